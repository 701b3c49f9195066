"""NEXMark events that the tasks generate first, and give when the clock is started."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heronpy.connectors.source import Chunk, Source
from heronpy.connectors.turns import SplitReader, TurnReader
from heronpy.nexmark.bench.bench_folder import BenchFolder
from heronpy.nexmark.generator import GeneratorConfig
from heronpy.nexmark.nexmark_records import Event
from heronpy.nexmark.nexmark_source import NexmarkSource

#: events that one poll generates: few enough for it not to block
STEP = 2048


@dataclass(frozen=True)
class HeldSource(Source[Event]):
    """The events of a NexmarkSource, held back until the folder says that the run is started."""

    name = "nexmark"
    of: NexmarkSource
    folder: str

    def splits(self) -> Sequence[str]:
        return self.of.splits()

    def open(self) -> HeldReader:
        return HeldReader(self)


class HeldReader(TurnReader[Event]):
    """Keeps the events of its splits in memory."""

    def __init__(self, source: HeldSource) -> None:
        super().__init__()
        self._configs, self._folder = source.of.configs(), BenchFolder(Path(source.folder))

    def open_split(self, split: str, position: Any) -> SplitReader[Event]:
        return _Held(split, position or 0, self._configs[int(split)], self._folder)


class _Held(SplitReader[Event]):
    def __init__(self, split: str, begin: int, config: GeneratorConfig, folder: BenchFolder) -> None:
        self._split, self._next, self._config, self._folder = split, begin, config, folder
        self._begin, self._events = begin, list[Event]()
        self._seconds = 0.0
        self._given = False

    def read(self, most: int) -> Chunk[Event] | None:
        if not self._given:
            if self._made < self._config.events:
                self._generate()
            self._given = self._made == self._config.events and self._folder.is_started()
            if not self._given:
                return None
        begin, end = self._next, min(self._next + most, self._config.events)
        self._next = end
        over = end == self._config.events
        records = self._events[begin - self._begin : end - self._begin]
        watermark = self._config.watermark(end) * 1000
        return Chunk(self._split, records, end, watermark=watermark, caught_up=over, ended=over)

    @property
    def _made(self) -> int:
        return self._begin + len(self._events)

    def _generate(self) -> None:
        began = time.perf_counter()
        self._events += self._config.generate(self._made, min(self._made + STEP, self._config.events))
        self._seconds += time.perf_counter() - began
        if self._made == self._config.events:
            self._folder.has_generated(self._split, self._seconds)
