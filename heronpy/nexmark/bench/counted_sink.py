"""A sink that keeps how many records it was given, and nothing of them."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path

from heronpy.connectors.sink import Sink, Writer
from heronpy.nexmark.bench.bench_folder import BenchFolder


class CountedSink(Sink[object]):
    """Transactional: each record counts once, also after crashes."""

    name = "results"
    mode = "transactional"

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def open(self, owner: str) -> Writer[object]:
        return _Counter(BenchFolder(Path(self._folder)), owner)


class _Counter(Writer[object]):
    def __init__(self, folder: BenchFolder, owner: str) -> None:
        self._folder, self._owner = folder, owner
        self._count = 0

    def write(self, records: Sequence[object]) -> None:
        self._count += len(records)

    def prepare(self, checkpoint: int) -> bytes:
        if not self._count:
            return b""
        count, self._count = self._count, 0
        return f"{self._owner}-{checkpoint}-{uuid.uuid4().hex} {count}".encode()

    def commit(self, handle: bytes) -> None:
        name, count = handle.decode().split(" ")
        self._folder.add_results(name, int(count))

    def abort(self) -> None:
        self._count = 0
