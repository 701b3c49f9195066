"""A sink that writes each record as a row of a table of an SQLite database."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heronpy.connectors.sink import Sink, Writer
from heronpy.connectors.sqlite.row_writer import RowWriter
from heronpy.connectors.sqlite.table import Table
from heronpy.errors import DefinitionError
from heronpy.kernel.errors import UserError

_HINT = "columns=['word', 'count'], or map records to dicts, NamedTuples or dataclasses"


@dataclass(frozen=True, init=False)
class DatabaseSink(Sink[Any]):
    """Rows of a table, which is created if it is missing; the database is a file that all machines see.

    A record is a dict, NamedTuple, dataclass or msgspec Struct with the columns as keys or fields, or a plain
    tuple or list with their values in order. Without `columns`, they are those of the first record. With
    `key`, a row replaces the one with the same values in these columns.
    """

    name = "sqlite"
    mode = "transactional"
    database: str
    table: str
    columns: tuple[str, ...]
    key: tuple[str, ...]

    def __init__(
        self,
        database: str | os.PathLike[str],
        table: str,
        *,
        columns: Sequence[str] = (),
        key: Sequence[str] = (),
    ) -> None:
        object.__setattr__(self, "database", os.path.abspath(database))
        object.__setattr__(self, "table", table)
        object.__setattr__(self, "columns", _names("columns", columns))
        object.__setattr__(self, "key", _names("key", key))
        object.__setattr__(self, "changes", "upsert" if key else "append")
        if columns:
            Table(table, self.columns, self.key).check(table)

    def check(self) -> None:
        if not os.path.exists(self.database):
            return
        try:
            with open(self.database, "rb") as file:
                head = file.read(16)
        except OSError as error:
            msg = f"{self.database} cannot be opened: {error.strerror}"
            raise UserError(msg, hint="name a file that can be written to") from error
        if head and head != b"SQLite format 3\0":
            msg = f"{self.database} is no SQLite database"
            raise UserError(msg, hint="name another file; it is made if it is missing")

    def open(self, owner: str) -> Writer[Any]:
        return _RecordWriter(self, owner)


class _RecordWriter(Writer[Any]):
    """Knows the columns with the first record, and then how each class of record has them."""

    def __init__(self, sink: DatabaseSink, owner: str) -> None:
        self._sink = sink
        self._rows = RowWriter(Path(sink.database), owner, DatabaseSink.__qualname__)
        self._columns: tuple[str, ...] = ()
        #: how the values of the columns are taken from a record, by its class
        self._takes: dict[type, Callable[[Any], Sequence[Any]]] = {}

    def write(self, records: Sequence[Any]) -> None:
        if records and not self._columns:
            self._use(self._sink.columns or _fields(records[0]))
        try:
            rows = [self._take(type(record))(record) for record in records]
        except (KeyError, AttributeError, ValueError) as error:
            msg = f"a record does not have the columns {', '.join(self._columns)}: {error}"
            raise UserError(msg, hint=_HINT) from error
        self._rows.write(rows)

    def prepare(self, checkpoint: int) -> bytes:
        return self._rows.prepare(checkpoint)

    def verify(self, handle: bytes) -> None:
        self._rows.verify(handle)

    def commit(self, handle: bytes) -> None:
        self._rows.commit(handle)

    def abort(self) -> None:
        self._rows.abort()

    def close(self) -> None:
        self._rows.close()

    def _use(self, columns: tuple[str, ...]) -> None:
        table = Table(self._sink.table, columns, self._sink.key)
        table.check(table.name)
        self._rows.use(table)
        self._columns = columns

    def _take(self, cls: type) -> Callable[[Any], Sequence[Any]]:
        take = self._takes.get(cls)
        if take is None:
            take = self._takes[cls] = _taking(cls, self._columns)
        return take


def _taking(cls: type, columns: tuple[str, ...]) -> Callable[[Any], Sequence[Any]]:
    if issubclass(cls, Mapping):
        return lambda record: [record[column] for column in columns]
    if issubclass(cls, tuple | list) and not hasattr(cls, "_fields"):
        return lambda record: _as_many(record, columns)
    return lambda record: [getattr(record, column) for column in columns]


def _as_many(record: Sequence[Any], columns: tuple[str, ...]) -> Sequence[Any]:
    if len(record) != len(columns):
        msg = f"it has {len(record)} values"
        raise ValueError(msg)
    return record


def _fields(record: object) -> tuple[str, ...]:
    """The columns of a record that names them; UserError if it does not."""
    if isinstance(record, Mapping):
        return tuple(map(str, record))
    for names in ("_fields", "__struct_fields__", "__dataclass_fields__"):
        if hasattr(type(record), names):
            return tuple(getattr(type(record), names))
    msg = f"the columns are not known: a record is a {type(record).__qualname__}, which does not name them"
    raise UserError(msg, hint=_HINT)


def _names(what: str, names: Sequence[str]) -> tuple[str, ...]:
    if isinstance(names, str) or len(set(names)) != len(names):
        msg = f"{what} must be a list of different names, got {names!r}"
        raise DefinitionError(msg, hint=f"{what}=['word', 'count']")
    return tuple(names)
