"""A source whose splits give what a test feeds, in its order; a position is a place in that list."""

from __future__ import annotations

import itertools
import weakref
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from heronpy.connectors import Chunk, Reader, Source
from heronpy.pipeline.times import BEGINNING
from heronpy.pipeline.watermarks import Watermarks
from heronpy.testing.pipelines.moments import FedRecord


class SaidWatermark(NamedTuple):
    """The split has come so far."""

    at: int


_NUMBERS: Final = itertools.count()
_SOURCES: Final[weakref.WeakValueDictionary[int, FedSource]] = weakref.WeakValueDictionary()

#: nothing follows in the split
FINISHED: Final = object()


class FedSource(Source[Any]):
    """Each split has a list that grows while the test runs."""

    bounded = False

    def __init__(self, name: str, splits: Sequence[str]) -> None:
        self.name = name
        self.number = next(_NUMBERS)
        _SOURCES[self.number] = self
        self.fed: dict[str, list[Any]] = {split: [] for split in splits}
        #: split → how much of it has been polled
        self.polled: dict[str, int] = dict.fromkeys(splits, 0)
        #: the time of the record that is being processed, if the test gave one
        self.time: int | None = None
        #: whether the test says how far event time has come
        self.scripted = False
        #: splits that say again and again that they are not idle
        self.awake: set[str] = set()

    def splits(self) -> Sequence[str]:
        return list(self.fed)

    @property
    def left(self) -> int:
        """Entries that no task has polled; the end of a split stays, for a task that takes it over."""
        return sum(
            len(fed) - self.polled[split] - (fed[-1:] == [FINISHED]) for split, fed in self.fed.items()
        )

    def open(self) -> Reader[Any]:
        return _FedReader(self)


class _FedReader(Reader[Any]):
    def __init__(self, source: FedSource) -> None:
        self._source = source
        self._positions: dict[str, int] = {}
        self._turns: deque[str] = deque()
        #: splits that have given their last chunk
        self._over: set[str] = set()
        #: those that have yet to say that they are awake
        self._waking: list[str] = []
        self._silent: list[str] = []

    def assign(self, positions: Mapping[str, Any]) -> None:
        self._positions = {split: position or 0 for split, position in positions.items()}
        self._source.polled.update(self._positions)
        self._turns = deque(sorted(self._positions))
        self._over = set()

    def poll(self, most: int) -> Chunk[Any] | None:  # noqa: ARG002 - one at a time, each with its own time
        self._silent = []
        for _ in range(len(self._turns)):
            split = self._turns[0]
            self._turns.rotate(-1)
            if (chunk := self._next(split)) is not None:
                return chunk
            if split not in self._source.awake:
                self._silent.append(split)
        return self._wake()

    def silent(self) -> Collection[str]:
        return self._silent

    def _next(self, split: str) -> Chunk[Any] | None:
        fed, position = self._source.fed[split], self._positions[split]
        if position == len(fed) or split in self._over:
            return None
        entry = fed[position]
        self._positions[split] = self._source.polled[split] = position + 1
        match entry:
            case FedRecord(time, value):
                self._source.time = time
                return Chunk(split, [value], position + 1, times=[time])
            case SaidWatermark(at):
                return Chunk(split, [], position + 1, watermark=at)
        if entry is FINISHED:
            self._over.add(split)
            self._positions[split] = self._source.polled[split] = position
            return Chunk(split, [], position, ended=True)
        self._source.time = None
        return Chunk(split, [entry], position + 1)

    def _wake(self) -> Chunk[Any] | None:
        """Splits that are awake say so, in turn; then there is nothing."""
        if not self._waking:
            self._waking = [split for split in self._turns if split in self._source.awake]
            if not self._waking:
                return None
        split = self._waking.pop()
        awake: Chunk[Any] = Chunk(split, [], self._positions[split])
        if not self._waking:
            self._source.awake -= self._positions.keys()
        return awake


class FedWatermarks(Watermarks):
    """The pipeline's own, unless the test says how far event time has come."""

    def __init__(self, source: FedSource, own: Watermarks) -> None:
        self._source, self._own = source, own
        self.lag = own.lag

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, and one that was saved, follows the same source, which stays what it is."""
        return _following, (self._source.number, self._own)

    def on_records(self, times: Sequence[int]) -> None:
        self._own.on_records(times)

    def current(self, now: int, caught_up: bool) -> int:
        return BEGINNING if self._source.scripted else self._own.current(now, caught_up)


def _following(number: int, own: Watermarks) -> FedWatermarks:
    return FedWatermarks(_SOURCES[number], own)
