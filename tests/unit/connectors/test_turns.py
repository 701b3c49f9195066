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


class Counts(TurnReader[int]):
    """Each split counts to three; nothing of that is in its position."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.closed: list[str] = []

    def open_split(self, split: str, position: Any) -> SplitReader[int]:
        self.opened.append(split)
        return _Count(split, self.closed)


class _Count(SplitReader[int]):
    def __init__(self, split: str, closed: list[str]) -> None:
        self._split, self._number, self._closed = split, 0, closed

    def read(self, most: int) -> Chunk[int]:
        self._number += 1
        return Chunk(self._split, [self._number], {}, ended=self._number == 3)

    def close(self) -> None:
        self._closed.append(self._split)


def test_splits_that_stay_go_on_when_others_come_and_go() -> None:
    reader = Counts()
    reader.assign({"a": None, "b": None})
    read = [reader.poll(1) for _ in range(2)]
    reader.assign({"b": {}, "c": None})
    assert reader.closed == ["a"]
    read += [reader.poll(1) for _ in range(3)]
    found = [(chunk.split, chunk.records) for chunk in read if chunk is not None]
    assert found == [("a", [1]), ("b", [1]), ("b", [2]), ("c", [1]), ("b", [3])]
    assert reader.opened == ["a", "b", "c"]
    reader.assign({"b": {}, "c": {}})
    over = [chunk for chunk in (reader.poll(1), reader.poll(1)) if chunk is not None]
    assert sorted((chunk.split, chunk.records, chunk.ended) for chunk in over) == [
        ("b", [], True),
        ("c", [2], False),
    ]
    assert reader.opened == ["a", "b", "c"], "one that had ended says so again, and does not begin again"


def test_a_split_that_is_to_go_back_is_opened_anew() -> None:
    reader = Counts()
    reader.assign({"a": None})
    reader.poll(1)
    reader.assign({"a": None})
    chunk = reader.poll(1)
    assert chunk is not None
    assert chunk.records == [1]
    assert reader.opened == ["a", "a"]
