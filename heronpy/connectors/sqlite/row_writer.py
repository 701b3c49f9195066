"""Writes rows into a table of an SQLite database, one transaction of it per checkpoint and task."""

from __future__ import annotations

import sqlite3
import urllib.parse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from heronpy.connectors.sink import Writer
from heronpy.connectors.sqlite.table import Table
from heronpy.connectors.staged_files import MARK, StagedFiles, discard
from heronpy.kernel.errors import TopologyError
from heronpy.kernel.formats import HANDLE
from heronpy.kernel.machine.durable import sync

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


def _decoded(handle: bytes) -> _Handle:
    return HANDLE.decode(handle, _Handle, "a transaction of SQLite")


class RowWriter(Writer[Sequence[Any]]):
    """Writes the rows of one task: into a file of their own first, from there into the table."""

    def __init__(self, database: Path, owner: str, sink: str) -> None:
        """Writes after `use`; commits and aborts without it. `sink` is named in errors."""
        self._database = database
        self._table: Table | None = None
        self._staged = StagedFiles(database.with_name(f"{database.name}.uncommitted"), owner, sink)
        #: where the open transaction is written to
        self._file: sqlite3.Connection | None = None
        self._path = database
        self._connection: sqlite3.Connection | None = _connected(database)

    def use(self, table: Table) -> None:
        """Write into this table, which is made if it is missing."""
        assert self._connection is not None
        with _one_line(self._database):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._connection.execute(_NOTES)
                table.make_sure(self._connection, self._database)
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")
        self._table = table

    def write(self, records: Sequence[Sequence[Any]]) -> None:
        if not records:
            return
        assert self._table is not None
        if self._file is None:
            self._file = self._begin(self._table)
        with _one_line(self._database):
            self._file.executemany(self._table.stage_row, records)

    def prepare(self, checkpoint: int) -> bytes:  # noqa: ARG002 - the interface's
        file, self._file = self._file, None
        if file is None:
            return b""
        file.execute("COMMIT")
        file.close()
        self._staged.prepared(self._path)
        assert self._table is not None
        return HANDLE.encode(_Handle(str(self._path), str(self._database), self._table))

    def verify(self, handle: bytes) -> None:
        self._staged.verify(Path(_decoded(handle).staged))

    def commit(self, handle: bytes) -> None:
        found = _decoded(handle)
        staged = Path(found.staged)
        own = self._connection is not None and found.database == str(self._database)
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
        self._staged.committed(staged)

    def abort(self) -> None:
        self._discard_open()
        self._staged.abort()

    def close(self) -> None:
        self._discard_open()
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _discard_open(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()
            discard(self._path)

    def _begin(self, table: Table) -> sqlite3.Connection:
        self._path = self._staged.new()
        file = sqlite3.connect(self._path, isolation_level=None)
        # The file is read only after it has been synced as a whole; a crash before that discards it.
        file.execute("PRAGMA journal_mode = OFF")
        file.execute("PRAGMA synchronous = OFF")
        file.execute("BEGIN")
        file.execute(table.stage)
        return file

    def _move(self, connection: sqlite3.Connection, staged: Path, table: Table) -> None:
        """The rows and the note in one transaction, unless there is a note already."""
        owner = staged.name.rpartition(MARK)[0]
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
                    self._staged.check_missing(staged)
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
