"""A generator as the source of a pipeline: a split for each partition."""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from heronpy.connectors import Chunk, Source
from heronpy.connectors.turns import SplitReader, TurnReader
from heronpy.state import HashMapState
from heronpy.streamlet.generator import Generator
from heronpy.streamlet.impl.paced import PacedGenerator
from heronpy.streamlet.impl.partitions import PartitionContext, Partitions

#: seconds for which a generator is asked at most before what it gave goes on
_AT_ONCE = 0.001


@dataclass(frozen=True)
class GeneratorSource(Source[Any]):
    """What a generator gives. The position of a split is what the generator has put into its state."""

    name = "generator"
    bounded = False
    generator: Generator
    partitions: Partitions

    def splits(self) -> Sequence[str]:
        return [str(index) for index in range(self.partitions.count)]

    def open(self) -> GeneratorReader:
        return GeneratorReader(self)


class GeneratorReader(TurnReader[Any]):
    """Has a copy of the generator for each split."""

    def __init__(self, source: GeneratorSource) -> None:
        super().__init__()
        self._source = source

    def open_split(self, split: str, position: Any) -> SplitReader[Any]:
        state = HashMapState()
        state.update(position or {})
        context = PartitionContext(self._source.partitions, int(split), state)
        generator = copy.deepcopy(self._source.generator)
        generator.setup(context)
        return _Generated(split, generator, context)


class _Generated(SplitReader[Any]):
    def __init__(self, split: str, generator: Generator, context: PartitionContext) -> None:
        self._split, self._generator, self._context = split, generator, context

    def read(self, most: int) -> Chunk[Any] | None:
        elements: list[Any] = []
        more, ended = self._is_due(), False
        until = time.monotonic() + _AT_ONCE
        while more and len(elements) < most:
            try:
                element = self._generator.get()
            except StopIteration:
                ended = True
                break
            if element is not None:
                self._context.emit(element)
            emitted = self._context.fetch()
            elements += emitted
            more = bool(emitted) and self._is_due()
            if time.monotonic() >= until:
                break
        elements += self._context.fetch()
        if not elements and not ended:
            return None
        position = dict(self._context.get_state())
        return Chunk(self._split, elements, position, caught_up=not more, ended=ended)

    def _is_due(self) -> bool:
        return not isinstance(self._generator, PacedGenerator) or self._generator.remaining() <= 0
