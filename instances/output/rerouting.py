"""Rows that were emitted under one plan and leave under another: which task gets each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from heronpy.instances.output.groupings import Grouping
from heronpy.kernel.plans import Input

T = TypeVar("T")


class Way(Generic[T]):
    """From one stream of this task to all tasks of one of its readers, by one plan."""

    def __init__(
        self, consumer: str, edge: Input, lanes: Mapping[int, T], grouping: Grouping[T] | None
    ) -> None:
        self.consumer = consumer
        self.edge = edge
        #: task → lane
        self.lanes = lanes
        #: None where the emitter names the task
        self.grouping = grouping
        self._tasks = sorted(lanes)

    @property
    def by_value(self) -> bool:
        """Whether what is in a row decides where it goes."""
        return self.edge.grouping.kind in ("fields", "custom")

    def again(self, task: int, index: int, row: Sequence[Any]) -> int | None:
        """The task that gets a copy which was for `task`, number `index` of the reader's, by another plan.

        None for a copy to drop: with `all` each task has its own copy, and the task of this one is gone.
        `row` has its values as they were emitted. A row that need not move stays, so that a tuple that was
        chosen for a task is not counted for another.
        """
        kind = self.edge.grouping.kind
        if kind in ("fields", "global"):
            return self._asked(row)[0]
        if kind == "custom":
            return self._custom(task, index, row)
        if task in self.lanes:
            return task
        if kind == "all":
            return None
        if kind == "direct":
            return self._tasks[index % len(self._tasks)]
        return self._asked(row)[0]

    def _custom(self, task: int, index: int, row: Sequence[Any]) -> int:
        """One copy goes to one task, however many the user's grouping names now."""
        chosen = self._asked(row)
        if len(chosen) == 1:
            return chosen[0]
        if task in chosen or (task in self.lanes and not chosen):
            return task
        return (chosen or self._tasks)[index % len(chosen or self._tasks)]

    def _asked(self, row: Sequence[Any]) -> list[int]:
        assert self.grouping is not None
        wanted = self.grouping.targets(tuple(row))
        numbers = {id(lane): task for task, lane in self.lanes.items()}
        return [numbers[id(lane)] for lane in wanted]
