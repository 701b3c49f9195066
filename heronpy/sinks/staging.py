"""Bolts that write through a writer of a connector, and ack a tuple when it is committed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from heronpy.bolt import Bolt
from heronpy.connectors import Writer
from heronpy.errors import DefinitionError
from heronpy.transactions import TransactionalSink
from heronpy.tuple import Tuple


class StagingSink(TransactionalSink, Bolt):
    """Common part of sinks that write each transaction into a file first."""

    _writer: Writer[Any] | None = None
    #: tuples that wait for the commit of the open transaction: only where tuples are tracked
    _written: list[Tuple]
    #: … and of what is prepared, by its handle
    _prepared: dict[bytes, list[Tuple]]

    def use_writer(self, writer: Writer[Any]) -> None:
        """In initialize: what is written to."""
        self._writer, self._written, self._prepared = writer, [], {}

    def put(self, record: Any, tup: Tuple) -> None:
        """Write the record of a tuple. With at least once, the tuple is acked when it is committed."""
        self.writer.write((record,))
        if tup.id is None:
            self.ack(tup)
        else:
            self._written.append(tup)

    @property
    def writer(self) -> Writer[Any]:
        assert self._writer is not None
        return self._writer

    def begin(self) -> None:
        """A transaction is opened by its first record."""

    def prepare(self, checkpoint: int) -> bytes:
        handle = self.writer.prepare(checkpoint)
        if handle:
            self._prepared[handle], self._written = self._written, []
        return handle

    def commit(self, handle: bytes) -> None:
        self.writer.commit(handle)
        for tup in self._prepared.pop(handle, ()):
            self.ack(tup)

    def abort(self) -> None:
        self.writer.abort()

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


def absolute(config: dict[str, object], key: str, component: str) -> Path:
    """A path of the config. It means the same to all machines, so it is not relative."""
    found = config.get(key)
    if not isinstance(found, str | os.PathLike) or not os.fspath(found):
        msg = f"{component!r} needs {key!r} in its config: a path"
        raise DefinitionError(msg)
    path = Path(found)
    if not path.is_absolute():
        msg = f"{key!r} of {component!r} must be an absolute path, got {str(path)!r}"
        raise DefinitionError(msg, hint=f"use os.path.abspath({str(path)!r})")
    return path
