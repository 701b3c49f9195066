"""A source of numbers at a steady rate, for demonstrations and load."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from heronpy.connectors.source import Chunk, Source
from heronpy.connectors.turns import SplitReader, TurnReader
from heronpy.errors import DefinitionError


@dataclass(frozen=True, init=False)
class RateSource(Source[int]):
    """0, 1, 2, …: `per_second` of them each second, for ever or `total` in all.

    With several parts, each has every so-many-th number, at its share of the rate. A position is the index of
    the next number of its part; after an `assign`, the rate begins anew, without catching up.
    """

    name = "rate"
    per_second: float
    total: int | None
    parts: int

    def __init__(self, per_second: float, *, total: int | None = None, parts: int = 1) -> None:
        if per_second <= 0 or parts < 1 or (total is not None and total < 0):
            msg = f"rate({per_second}, total={total}, parts={parts}) gives nothing"
            raise DefinitionError(msg, hint="rate(100), rate(0.5, total=10), rate(1e6, parts=4)")
        object.__setattr__(self, "per_second", per_second)
        object.__setattr__(self, "total", total)
        object.__setattr__(self, "parts", parts)
        object.__setattr__(self, "bounded", total is not None)

    def splits(self) -> Sequence[str]:
        return [str(part) for part in range(self.parts)]

    def open(self) -> RateReader:
        return RateReader(self, time.monotonic)


class RateReader(TurnReader[int]):
    """Gives the numbers that are due."""

    def __init__(self, source: RateSource, clock: Callable[[], float]) -> None:
        super().__init__()
        self._source, self._clock = source, clock

    def assign(self, positions: Mapping[str, Any]) -> None:
        self.close()  # the time in which splits were on their way is not made up for
        super().assign(positions)

    def open_split(self, split: str, position: Any) -> SplitReader[int]:
        source, part = self._source, int(split)
        numbers = range(part, source.total, source.parts) if source.total is not None else None
        return _Ticks(split, position or 0, source, numbers, self._clock)


class _Ticks(SplitReader[int]):
    def __init__(
        self,
        split: str,
        position: int,
        source: RateSource,
        numbers: range | None,
        clock: Callable[[], float],
    ) -> None:
        self._split, self._source, self._clock = split, source, clock
        #: how many there will be
        self._end = None if numbers is None else len(numbers)
        self._begin, self._began = position, clock()
        self._next = position

    def read(self, most: int) -> Chunk[int] | None:
        per_second = self._source.per_second / self._source.parts
        due = self._begin + int((self._clock() - self._began) * per_second)
        if self._end is not None:
            due = min(due, self._end)
        end = min(due, self._next + most)
        over = end == self._end
        if end == self._next and not over:
            return None
        parts, part = self._source.parts, int(self._split)
        records = range(self._next * parts + part, end * parts + part, parts)
        self._next = end
        return Chunk(self._split, records, end, caught_up=end == due, ended=over)
