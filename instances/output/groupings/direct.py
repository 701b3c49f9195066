"""Direct: the emitter names the task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from heronpy.instances.output.groupings.grouping import Grouping

T = TypeVar("T")


class Direct(Grouping[T]):
    """Chooses no task for a new row."""

    def targets(self, row: tuple[Any, ...]) -> Sequence[T]:
        del row
        return ()

    def split(
        self, rows: Sequence[tuple[Any, ...]], sent: Sequence[tuple[Any, ...]]
    ) -> Iterable[tuple[T, Sequence[tuple[Any, ...]]]]:
        del rows, sent
        return ()

    def split_columns(self, batch: Any) -> Iterable[tuple[T, Any]]:
        del batch
        return ()

    def again(self, row: Sequence[Any], task: int, index: int) -> int | None:
        del row
        return task if task in self.lanes else self._tasks[index % len(self._tasks)]
