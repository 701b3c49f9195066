"""Writes rows into a table of an SQLite database, one transaction of it per checkpoint and task."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heronpy.connectors.sqlite.row_writer import RowWriter
from heronpy.connectors.sqlite.table import Table, name_list
from heronpy.errors import DefinitionError
from heronpy.sinks.files import with_given
from heronpy.sinks.staging import StagingSink, absolute
from heronpy.spec import HeronComponentSpec
from heronpy.stream import Stream
from heronpy.tuple import Tuple

if TYPE_CHECKING:
    from heronpy.context import TopologyContext


class SQLiteSink(StagingSink):
    """Writes one row per tuple into a table, which is created if it is missing.

    The columns are the fields of the stream, unless `columns` names some of them. With `key`, a row replaces
    the one with the same values in these columns. All machines must see the same database file.
    """

    DATABASE = "sqlitesink.database"
    TABLE = "sqlitesink.table"
    COLUMNS = "sqlitesink.columns"
    KEY = "sqlitesink.key"

    database: Path
    columns: Sequence[str]

    @classmethod
    def spec(
        cls,
        name: str | None = None,
        inputs: Any = None,
        par: int = 1,
        config: dict[str, Any] | None = None,
        optional_outputs: Sequence[str | Stream] | None = None,
        *,
        database: str | os.PathLike[str] | None = None,
        table: str | None = None,
        columns: Sequence[str] | None = None,
        key: Sequence[str] | None = None,
    ) -> HeronComponentSpec:
        """`database` is a file, and may be relative to where the topology is submitted."""
        given = {
            cls.DATABASE: os.path.abspath(database) if database is not None else None,
            cls.TABLE: table,
            cls.COLUMNS: columns,
            cls.KEY: key,
        }
        return super().spec(name, inputs, par, with_given(config, given), optional_outputs)

    def row(self, tup: Tuple) -> Sequence[Any]:
        """The values of the columns, in order. Override it as you like."""
        return [tup[column] for column in self.columns]

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        """A subclass that overrides `initialize` must call this one."""
        component = context.get_component_id()
        self.database = absolute(config, self.DATABASE, component)
        if not isinstance(config.get(self.TABLE), str):
            msg = f"{component!r} needs {self.TABLE!r} in its config: the name of a table"
            raise DefinitionError(msg)
        self.columns = name_list(config, self.COLUMNS, component) or _fields(context)
        table = Table(config[self.TABLE], tuple(self.columns), name_list(config, self.KEY, component))
        table.check(component)
        writer = RowWriter(self.database, self.owner, type(self).__qualname__)
        self.use_writer(writer)
        writer.use(table)

    def process(self, tup: Tuple) -> None:
        self.put(self.row(tup), tup)


def _fields(context: TopologyContext) -> tuple[str, ...]:
    """The fields of what the component reads."""
    component = context.get_component_id()
    found = set()
    for source in context.get_this_sources():
        stream = context.plan.logical.component(source.component_name).stream(source.id)
        assert stream is not None
        found.add(stream.fields)
    if len(found) != 1:
        streams = "; ".join(", ".join(fields) for fields in sorted(found)) or "nothing"
        msg = f"{component!r} reads streams with different fields ({streams})"
        raise DefinitionError(msg, hint=f"set {SQLiteSink.COLUMNS!r} in its config")
    return tuple(next(iter(found)))
