"""Writes rows into a table of an SQLite database, one transaction of it per checkpoint and task."""

from __future__ import annotations

import os
import sqlite3
import urllib.parse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from heronpy.errors import DefinitionError
from heronpy.kernel.errors import TopologyError
from heronpy.kernel.formats import HANDLE
from heronpy.kernel.machine.durable import sync
from heronpy.sinks.files import with_given
from heronpy.sinks.staging import StagingSink, absolute, discard, suffixed
from heronpy.sinks.table import Table, name_list
from heronpy.spec import HeronComponentSpec
from heronpy.stream import Stream
from heronpy.tuple import Tuple

if TYPE_CHECKING:
    from heronpy.context import TopologyContext

#: how long one task waits for the others that commit into the same database
_PATIENCE = 60.0
#: what each task has committed last: the rows and this note become durable together
_NOTES = "CREATE TABLE IF NOT EXISTS heronpy_committed (owner TEXT PRIMARY KEY, file TEXT NOT NULL)"
_NOTE = "INSERT OR REPLACE INTO heronpy_committed (owner, file) VALUES (?, ?)"
_NOTED = "SELECT 1 FROM heronpy_committed WHERE owner = ? AND file = ?"


class _Handle(msgspec.Struct):
    staged: str
    database: str
    table: Table


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
    _table: Table
    _connection: sqlite3.Connection | None = None
    #: where the open transaction is written to
    _file: sqlite3.Connection | None = None
    _path: Path

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
        self._table = Table(config[self.TABLE], tuple(self.columns), name_list(config, self.KEY, component))
        self._table.check(component)
        self.use_staging(suffixed(self.database, ".uncommitted"))
        self._connection = _connected(self.database)
        with _one_line(self.database):
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.execute(_NOTES)
            self._table.make_sure(self._connection, self.database)
            self._connection.execute("COMMIT")

    def begin(self) -> None:
        """The file is made with the first row."""

    def process(self, tup: Tuple) -> None:
        if self._file is None:
            self._open()
        assert self._file is not None
        self._file.execute(self._table.stage_row, self.row(tup))
        self.noted(tup)

    def prepare(self, checkpoint: int) -> bytes:  # noqa: ARG002 - the interface's
        file, self._file = self._file, None
        if file is None:
            return b""
        file.execute("COMMIT")
        file.close()
        self.prepared(self._path)
        return HANDLE.encode(_Handle(str(self._path), str(self.database), self._table))

    def commit(self, handle: bytes) -> None:
        found = HANDLE.decode(handle, _Handle, "a transaction of an SQLiteSink")
        staged = Path(found.staged)
        own = self._connection is not None and found.database == str(self.database)
        connection = self._connection if own else _connected(Path(found.database))
        assert connection is not None
        try:
            with _one_line(found.database):
                self._move(connection, staged, found.table)
        finally:
            if connection is not self._connection:
                connection.close()
        discard(staged)
        if staged.parent.exists():
            # Only when the file is gone for good, the note may give way to the next one.
            sync(staged.parent)
        self.committed(staged)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
            discard(self._path)
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self) -> None:
        self._path = self.stage()
        self._file = sqlite3.connect(self._path, isolation_level=None)
        # The file is read only after it has been synced as a whole; a crash before that discards it.
        self._file.execute("PRAGMA journal_mode = OFF")
        self._file.execute("PRAGMA synchronous = OFF")
        self._file.execute("BEGIN")
        self._file.execute(self._table.stage)

    def _move(self, connection: sqlite3.Connection, staged: Path, table: Table) -> None:
        """The rows and the note in one transaction, unless there is a note already."""
        owner = staged.name.rpartition("~")[0]
        there = staged.exists()
        if there:
            where = f"file:{urllib.parse.quote(str(staged))}?immutable=1"
            connection.execute("ATTACH ? AS staged", (where,))
        try:
            connection.execute("BEGIN IMMEDIATE")
            try:
                if connection.execute(_NOTED, (owner, staged.name)).fetchone() is not None:
                    pass
                elif there and staged.exists():  # while we waited another may have committed and removed it
                    connection.execute(table.move)
                    connection.execute(_NOTE, (owner, staged.name))
                else:
                    self.check_missing(staged)
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")
        finally:
            if there:
                connection.execute("DETACH staged")


class _one_line:  # noqa: N801 - used like a function
    """What SQLite does not like, with the name of the database."""

    def __init__(self, database: Path | str) -> None:
        self._database = database

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, sqlite3.Error):
            msg = f"SQLite cannot write to {self._database}: {error}"
            raise TopologyError(msg) from error


def _connected(database: Path) -> sqlite3.Connection:
    with _one_line(database):
        where = f"file:{urllib.parse.quote(str(database))}"
        connection = sqlite3.connect(where, timeout=_PATIENCE, isolation_level=None, uri=True)
        # The staged file goes when its rows are in: with less, a power cut could take them out again.
        connection.execute("PRAGMA synchronous = EXTRA")
        return connection


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
