"""A table of an SQLite database that rows are written into, and the statements for that."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from heronpy.errors import DefinitionError
from heronpy.kernel.errors import TopologyError, did_you_mean


class Table(msgspec.Struct, array_like=True, frozen=True):
    """Columns that are written, and those of them whose values no two rows have in common."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...] = ()

    def check(self, component: str) -> None:
        """DefinitionError if the key is not made of columns."""
        for column in self.key:
            if column not in self.columns:
                msg = f"the key of {component!r} has {column!r}, which is no column"
                raise DefinitionError(msg + did_you_mean(column, self.columns))

    def make_sure(self, connection: sqlite3.Connection, database: Path) -> None:
        """Make the table if it is missing; TopologyError if it is another than ours."""
        key = f", PRIMARY KEY ({_names(self.key)})" if self.key else ""
        connection.execute(f"CREATE TABLE IF NOT EXISTS {_name(self.name)} ({_names(self.columns)}{key})")
        found = [row[1] for row in connection.execute(f"PRAGMA table_info({_name(self.name)})")]
        known = {column.lower() for column in found}
        missing = [column for column in self.columns if column.lower() not in known]
        if missing:
            msg = f"table {self.name!r} in {database} has no column {missing[0]!r}"
            raise TopologyError(msg + did_you_mean(missing[0], found))
        if self.key:
            marks = ", ".join("?" * len(self.columns))
            insert = f"EXPLAIN INSERT INTO {self._into} VALUES ({marks}) {self._conflict}"
            try:
                connection.execute(insert, (None,) * len(self.columns))
            except sqlite3.OperationalError as error:
                names = ", ".join(self.key)
                msg = f"table {self.name!r} in {database} has no primary key or unique index on ({names})"
                raise TopologyError(msg) from error

    @property
    def stage(self) -> str:
        """Makes the table that rows wait in."""
        return f"CREATE TABLE rows ({', '.join(f'c{number}' for number in range(len(self.columns)))})"

    @property
    def stage_row(self) -> str:
        return f"INSERT INTO rows VALUES ({', '.join('?' * len(self.columns))})"

    @property
    def move(self) -> str:
        """Puts the rows into the table, in the order in which they came."""
        # Without a WHERE, SQLite takes ON CONFLICT for the beginning of a join.
        return (
            f"INSERT INTO {self._into} SELECT * FROM staged.rows WHERE true ORDER BY rowid {self._conflict}"
        )

    @property
    def _into(self) -> str:
        return f"main.{_name(self.name)} ({_names(self.columns)})"

    @property
    def _conflict(self) -> str:
        if not self.key:
            return ""
        others = [column for column in self.columns if column not in self.key]
        changes = ", ".join(f"{_name(column)} = excluded.{_name(column)}" for column in others)
        return f"ON CONFLICT ({_names(self.key)}) DO " + (f"UPDATE SET {changes}" if changes else "NOTHING")


def name_list(config: dict[str, Any], key: str, component: str) -> tuple[str, ...]:
    """Names of columns in the config; none if there are none."""
    found = config.get(key) or ()
    if isinstance(found, str) or not all(isinstance(name, str) and name for name in found):
        msg = f"{key!r} of {component!r} must be a list of names, got {found!r}"
        raise DefinitionError(msg)
    if len(set(found)) != len(found):
        msg = f"{key!r} of {component!r} has a name twice: {list(found)}"
        raise DefinitionError(msg)
    return tuple(found)


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _names(names: Sequence[str]) -> str:
    return ", ".join(map(_name, names))
