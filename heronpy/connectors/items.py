"""A source of values that the program has already."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from heronpy.connectors.source import Chunk, Source
from heronpy.connectors.turns import SplitReader, TurnReader
from heronpy.errors import DefinitionError

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, init=False)
class ItemSource(Source[T_co]):
    """The values in order; with several splits, each has a part of the order.

    A position is the index of the next value. A `range` stays one; anything else is copied.
    """

    name = "items"
    values: Sequence[T_co]
    parts: int

    def __init__(self, values: Iterable[T_co], *, parts: int = 1) -> None:
        if parts < 1:
            msg = f"items cannot be read in {parts} parts"
            raise DefinitionError(msg, hint="parts=1")
        kept: Any = values if isinstance(values, range) else tuple(values)
        object.__setattr__(self, "values", kept)
        object.__setattr__(self, "parts", parts)

    def splits(self) -> Sequence[str]:
        return [str(number) for number in range(self.parts)]

    def open(self) -> ItemReader[T_co]:
        return ItemReader(self)


class ItemReader(TurnReader[T_co]):
    """Gives slices of the values."""

    def __init__(self, source: ItemSource[T_co]) -> None:
        super().__init__()
        self._source = source

    def open_split(self, split: str, position: Any) -> SplitReader[T_co]:
        values, parts, part = self._source.values, self._source.parts, int(split)
        begin = len(values) * part // parts if position is None else position
        return _Slice(split, values, begin, len(values) * (part + 1) // parts)


class _Slice(SplitReader[T], Generic[T]):
    def __init__(self, split: str, values: Sequence[T], begin: int, end: int) -> None:
        self._split, self._values, self._next, self._end = split, values, begin, end

    def read(self, most: int) -> Chunk[T]:
        begin, end = self._next, min(self._next + most, self._end)
        self._next = end
        over = end == self._end
        return Chunk(self._split, self._values[begin:end], end, caught_up=over, ended=over)
