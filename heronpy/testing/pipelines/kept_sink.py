"""A sink in the memory of a test: what is committed, and what would be with the next checkpoint."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from heronpy.connectors import Sink, Writer


class KeptSink(Sink[Any]):
    """`seen` has all that was written and not undone by a crash, `committed` what no crash can undo."""

    mode = "transactional"
    changes = "upsert"

    def __init__(self, name: str) -> None:
        self.name = name
        self.committed: list[Any] = []
        #: what a checkpoint that is not complete yet has, by handle
        self.prepared: dict[bytes, list[Any]] = {}
        #: task → what came since its last checkpoint
        self.open_ones: dict[str, list[Any]] = {}
        self.numbers = itertools.count(1)

    @property
    def seen(self) -> list[Any]:
        return [*self.committed, *itertools.chain(*self.prepared.values(), *self.open_ones.values())]

    def open(self, owner: str) -> Writer[Any]:
        return _KeptWriter(self, owner)


class _KeptWriter(Writer[Any]):
    def __init__(self, sink: KeptSink, owner: str) -> None:
        self._sink, self._owner = sink, owner
        sink.open_ones[owner] = []

    def write(self, records: Sequence[Any]) -> None:
        self._sink.open_ones[self._owner] += records

    def prepare(self, checkpoint: int) -> bytes:
        written = self._sink.open_ones[self._owner]
        if not written:
            return b""
        handle = f"{self._owner}~{checkpoint}-{next(self._sink.numbers)}".encode()
        self._sink.prepared[handle], self._sink.open_ones[self._owner] = written, []
        return handle

    def commit(self, handle: bytes) -> None:
        self._sink.committed += self._sink.prepared.pop(handle, ())

    def abort(self) -> None:
        self._sink.open_ones[self._owner] = []
        own = f"{self._owner}~".encode()
        for handle in [handle for handle in self._sink.prepared if handle.startswith(own)]:
            del self._sink.prepared[handle]
