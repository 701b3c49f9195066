"""Custom: the user's own code chooses the tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

from heronpy.instances.output.groupings.grouping import Grouping
from heronpy.kernel.errors import TopologyError

T = TypeVar("T")


class Chooser(Protocol):
    """What an ICustomGrouping looks like once prepared."""

    def choose_tasks(self, values: Sequence[Any]) -> Sequence[int]: ...


class Custom(Grouping[T]):
    """Asks the user's grouping and checks its answer."""

    by_value = True

    def __init__(self, lanes: Mapping[int, T], chooser: Chooser, where: str) -> None:
        super().__init__(lanes)
        self._choose = chooser.choose_tasks
        self._where = where

    def targets(self, row: tuple[Any, ...]) -> Sequence[T]:
        chosen = self._choose(list(row))
        try:
            return [self.lanes[task] for task in chosen]
        except (KeyError, TypeError):
            msg = (
                f"the custom grouping of {self._where} chose {chosen!r}: choose_tasks must return a list of"
                f" task ids out of {sorted(self.lanes)}"
            )
            raise TopologyError(msg) from None

    def again(self, row: Sequence[Any], task: int, index: int) -> int | None:
        """One copy goes to one task, however many the user's grouping names now."""
        chosen = self._chosen(row)
        if len(chosen) == 1:
            return chosen[0]
        if task in chosen or (task in self.lanes and not chosen):
            return task
        return (chosen or self._tasks)[index % len(chosen or self._tasks)]
