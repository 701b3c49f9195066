"""Groupings whose answer is always the same: all and global."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from heronpy.instances.output.groupings.grouping import Grouping

T = TypeVar("T")


class ToAll(Grouping[T]):
    """Every task gets a copy of its own."""

    def __init__(self, lanes: Mapping[int, T]) -> None:
        super().__init__(lanes)
        self._answer = tuple(lanes[task] for task in self._tasks)

    def targets(self, row: tuple[Any, ...]) -> Sequence[T]:
        del row
        return self._answer

    def split(
        self, rows: Sequence[tuple[Any, ...]], sent: Sequence[tuple[Any, ...]]
    ) -> Iterable[tuple[T, Sequence[tuple[Any, ...]]]]:
        del rows
        return [(lane, sent) for lane in self._answer]

    def split_columns(self, batch: Any) -> Iterable[tuple[T, Any]]:
        return [(lane, batch) for lane in self._answer]

    def again(self, row: Sequence[Any], task: int, index: int) -> int | None:
        """The copy of a task that is gone is dropped: the others have theirs."""
        del row, index
        return task if task in self.lanes else None


class ToLowest(Grouping[T]):
    """Global: the task with the lowest id."""

    def __init__(self, lanes: Mapping[int, T]) -> None:
        super().__init__(lanes)
        self._answer = (lanes[self._tasks[0]],)

    def targets(self, row: tuple[Any, ...]) -> Sequence[T]:
        del row
        return self._answer

    def split(
        self, rows: Sequence[tuple[Any, ...]], sent: Sequence[tuple[Any, ...]]
    ) -> Iterable[tuple[T, Sequence[tuple[Any, ...]]]]:
        del rows
        return [(lane, sent) for lane in self._answer]

    def split_columns(self, batch: Any) -> Iterable[tuple[T, Any]]:
        return [(lane, batch) for lane in self._answer]

    def again(self, row: Sequence[Any], task: int, index: int) -> int | None:
        del row, task, index
        return self._tasks[0]
