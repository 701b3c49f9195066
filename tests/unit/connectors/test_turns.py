"""Splits that take turns: each is asked, and the reader says which had nothing."""

from __future__ import annotations

from typing import Any

from heronpy.connectors import Chunk
from heronpy.connectors.turns import SplitReader, TurnReader


class Lists(TurnReader[int]):
    """Each split gives the first number of its list, or has nothing while that is empty."""

    def __init__(self, **lists: list[int]) -> None:
        super().__init__()
        self._lists = lists

    def open_split(self, split: str, position: Any) -> SplitReader[int]:
        return _List(split, self._lists[split])


class _List(SplitReader[int]):
    def __init__(self, split: str, numbers: list[int]) -> None:
        self._split, self._numbers = split, numbers

    def read(self, most: int) -> Chunk[int] | None:
        return Chunk(self._split, [self._numbers.pop(0)], 0) if self._numbers else None


def polled(reader: Lists) -> tuple[str | None, list[str]]:
    chunk = reader.poll(10)
    return None if chunk is None else chunk.split, list(reader.silent())


def test_splits_that_were_asked_in_vain_are_told_and_others_are_not() -> None:
    reader = Lists(busy=[1, 2, 3], also=[4, 5], never=[])
    assert list(reader.silent()) == []
    reader.assign(dict.fromkeys(["busy", "also", "never"]))
    assert polled(reader) == ("busy", [])
    assert polled(reader) == ("also", [])
    assert polled(reader) == ("busy", ["never"])
    assert polled(reader) == ("also", [])
    assert polled(reader) == ("busy", ["never"])
    assert polled(reader) == (None, ["also", "never", "busy"])
    reader.assign({"busy": None})
    assert list(reader.silent()) == []
