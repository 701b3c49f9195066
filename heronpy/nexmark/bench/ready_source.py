"""NEXMark events that are in memory before a run begins, with the watermarks that their generators know."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from heronpy.connectors.source import Chunk, Source
from heronpy.connectors.turns import SplitReader, TurnReader
from heronpy.nexmark.bench.bench_folder import BenchFolder
from heronpy.nexmark.generator import GeneratorConfig
from heronpy.nexmark.nexmark_records import Event
from heronpy.nexmark.nexmark_source import NexmarkSource


class ReadySource(Source[Event]):
    """The events of a NexmarkSource, generated here and now: for a run in this process."""

    name = "nexmark"

    def __init__(self, of: NexmarkSource, folder: str) -> None:
        began = time.perf_counter()
        self._parts = [(config, list(config.generate())) for config in of.configs()]
        BenchFolder(Path(folder)).has_generated("here", time.perf_counter() - began)

    def splits(self) -> Sequence[str]:
        return [str(index) for index in range(len(self._parts))]

    def open(self) -> ReadyReader:
        return ReadyReader(self._parts)


class ReadyReader(TurnReader[Event]):
    """Gives slices of lists."""

    def __init__(self, parts: Sequence[tuple[GeneratorConfig, list[Event]]]) -> None:
        super().__init__()
        self._parts = parts

    def open_split(self, split: str, position: Any) -> SplitReader[Event]:
        return _Ready(split, position or 0, *self._parts[int(split)])


class _Ready(SplitReader[Event]):
    def __init__(self, split: str, begin: int, config: GeneratorConfig, events: list[Event]) -> None:
        self._split, self._next, self._config, self._events = split, begin, config, events

    def read(self, most: int) -> Chunk[Event]:
        begin, end = self._next, min(self._next + most, len(self._events))
        self._next = end
        over = end == len(self._events)
        watermark = self._config.watermark(end) * 1000
        records = self._events[begin:end]
        return Chunk(self._split, records, end, watermark=watermark, caught_up=over, ended=over)
