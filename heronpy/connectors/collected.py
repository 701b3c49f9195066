"""A sink that keeps the records in a list, for tests and notebooks."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Generic, NoReturn, TypeVar

from heronpy.connectors.sink import Sink, Writer
from heronpy.kernel.errors import UserError

T = TypeVar("T")


class CollectedSink(Sink[T]):
    """`records` has what was committed, in the order in which it was.

    It is a list in this process, so only a runner that writes in this process can fill it.
    """

    name = "collected"
    mode = "transactional"

    def __init__(self) -> None:
        self.records: list[T] = []
        #: what is prepared, by handle; a commit takes it out
        self.prepared: dict[bytes, list[T]] = {}
        self.numbers = itertools.count(1)

    def open(self, owner: str) -> Writer[T]:
        return _Collector(self, owner)

    def __reduce__(self) -> NoReturn:
        msg = "what is collected is a list in this process, and other processes cannot fill it"
        raise UserError(msg, hint="run it with --runner local, or write to files or SQLite")


class _Collector(Writer[T], Generic[T]):
    def __init__(self, sink: CollectedSink[T], owner: str) -> None:
        self._sink = sink
        self._owner = owner.encode() + b"~"
        self._open: list[Any] = []

    def write(self, records: Sequence[T]) -> None:
        self._open += records

    def prepare(self, checkpoint: int) -> bytes:
        if not self._open:
            return b""
        handle = self._owner + b"%d-%d" % (checkpoint, next(self._sink.numbers))
        self._sink.prepared[handle], self._open = self._open, []
        return handle

    def commit(self, handle: bytes) -> None:
        self._sink.records += self._sink.prepared.pop(handle, ())

    def abort(self) -> None:
        self._open = []
        for handle in [handle for handle in self._sink.prepared if handle.startswith(self._owner)]:
            del self._sink.prepared[handle]

    def close(self) -> None:
        self._open = []
