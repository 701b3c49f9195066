"""What every grouping can do: choose tasks for new rows, and for a row that waits while the plan changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from heronpy.kernel.flow.column_split import rows_of, taken

T = TypeVar("T")


class Grouping(Generic[T]):
    """From one stream of a task to all tasks of one of its readers, by one plan.

    Chooses among ready-made lanes, so that a choice costs no allocation.
    """

    #: whether the values of a row decide where it goes
    by_value = False

    def __init__(self, lanes: Mapping[int, T]) -> None:
        #: task → lane
        self.lanes = lanes
        self._tasks = sorted(lanes)

    def targets(self, row: tuple[Any, ...]) -> Sequence[T]:
        """The lanes of the tasks that get a copy of the row."""
        raise NotImplementedError

    def split(
        self, rows: Sequence[tuple[Any, ...]], sent: Sequence[tuple[Any, ...]]
    ) -> Iterable[tuple[T, Sequence[tuple[Any, ...]]]]:
        """Lanes, and what each of them gets of a batch, in order: the same as by `targets` for each row.

        `sent` has the rows as they are put into lanes: some of their values may be encoded already.
        """
        pieces: dict[T, list[tuple[Any, ...]]] = {}
        for row, frozen in zip(rows, sent, strict=True):
            for lane in self.targets(row):
                pieces.setdefault(lane, []).append(frozen)
        return pieces.items()

    def split_columns(self, batch: Any) -> Iterable[tuple[T, Any]]:
        """Lanes, and what each of them gets of a record batch, in order; here by the values of each row."""
        places = {id(lane): place for place, lane in enumerate(self.lanes.values())}
        chosen = [
            (places[id(lane)], number)
            for number, row in enumerate(rows_of(batch))
            for lane in self.targets(tuple(row))
        ]
        lanes = list(self.lanes.values())
        return [(lanes[place], part) for place, part in taken(batch, chosen).items()]

    def column_owners(self, batch: Any, task: int, index: int) -> list[tuple[int | None, Any]]:
        """As `owners`, for a record batch: tasks, and the rows that each of them gets."""
        if not self.by_value:
            return [(self.again((), task, index), batch)]
        owners = self.owners(rows_of(batch), task, index)
        chosen = [(-1 if owner is None else owner, number) for number, owner in enumerate(owners)]
        return [(None if owner < 0 else owner, part) for owner, part in taken(batch, chosen).items()]

    def owners(self, rows: Iterable[Sequence[Any]], task: int, index: int) -> list[int | None]:
        """For each row that waits for `task` by an earlier plan, the task that gets it by this one."""
        return [self.again(row, task, index) for row in rows]

    def again(self, row: Sequence[Any], task: int, index: int) -> int | None:
        """The task that gets a copy which was for `task`, number `index` of the reader's, by another plan.

        None for a copy to drop. `row` has its values as they were emitted. A row that need not move stays, so
        that a tuple that was chosen for a task is not counted for another.
        """
        del index
        return task if task in self.lanes else self._chosen(row)[0]

    def _chosen(self, row: Sequence[Any]) -> list[int]:
        numbers = {id(lane): task for task, lane in self.lanes.items()}
        return [numbers[id(lane)] for lane in self.targets(tuple(row))]
