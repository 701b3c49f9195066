"""NEXMark events as a source: a split for each generator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from heronpy.connectors.source import Chunk, Source
from heronpy.connectors.turns import SplitReader, TurnReader
from heronpy.errors import DefinitionError
from heronpy.nexmark.generator import GeneratorConfig
from heronpy.nexmark.nexmark_records import Event


@dataclass(frozen=True)
class NexmarkSource(Source[Event]):
    """Bounded, and as fast as it is read; a position is how many events a generator has made."""

    name = "nexmark"
    events: int = 100_000
    generators: int = 1
    #: events per second of all generators, in event time
    rate: int = 10_000
    out_of_order: int = 1

    def __post_init__(self) -> None:
        if min(self.generators, self.rate, self.out_of_order) < 1 or self.events < 0:
            msg = f"NEXMark cannot be generated like this: {self}"
            raise DefinitionError(msg, hint="NexmarkSource(events=100_000, generators=2)")

    def splits(self) -> Sequence[str]:
        return [str(index) for index in range(self.generators)]

    def configs(self) -> list[GeneratorConfig]:
        """What each split generates."""
        whole = GeneratorConfig(self.events, self.generators, self.rate, self.out_of_order)
        return whole.split(self.generators)

    def open(self) -> NexmarkReader:
        return NexmarkReader(self.configs())


class NexmarkReader(TurnReader[Event]):
    """Generates the events of its splits."""

    def __init__(self, configs: Sequence[GeneratorConfig]) -> None:
        super().__init__()
        self._configs = configs

    def open_split(self, split: str, position: Any) -> SplitReader[Event]:
        return _Generated(split, position or 0, self._configs[int(split)])


class _Generated(SplitReader[Event]):
    def __init__(self, split: str, count: int, config: GeneratorConfig) -> None:
        self._split, self._count, self._config = split, count, config

    def read(self, most: int) -> Chunk[Event]:
        end = min(self._count + most, self._config.events)
        records = list(self._config.generate(self._count, end))
        self._count = end
        times = [record.at * 1000 for record in records]
        watermark = self._config.watermark(end) * 1000
        over = end == self._config.events
        return Chunk(self._split, records, end, times, watermark, caught_up=over, ended=over)
