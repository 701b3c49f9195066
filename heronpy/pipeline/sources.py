"""The sources that pipelines read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from heronpy.pipeline.ends import RecordSource

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


def items(values: Iterable[T]) -> RecordSource[T]:
    """The values themselves."""
    return _Items(tuple(values))


@dataclass(frozen=True)
class _Chunk(Generic[T_co]):
    records: Sequence[T_co]
    split: str
    ended: bool


@dataclass(frozen=True)
class _Items(Generic[T_co]):
    values: tuple[T_co, ...]
    name = "items"
    bounded = True

    def check(self) -> None:
        pass

    def splits(self) -> Sequence[str]:
        return ["0"]

    def open(self) -> _ItemReader[T_co]:
        return _ItemReader(self.values)


class _ItemReader(Generic[T_co]):
    def __init__(self, values: tuple[T_co, ...]) -> None:
        self._values, self._next = values, 0

    def assign(self, positions: Mapping[str, Any]) -> None:
        self._next = positions["0"] or 0

    def poll(self, most: int) -> _Chunk[T_co]:
        records = self._values[self._next : self._next + most]
        self._next += len(records)
        return _Chunk(records, "0", self._next == len(self._values))

    def close(self) -> None:
        pass
