"""Custom: the user's own code chooses the tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from heronpy.kernel.errors import TopologyError

T = TypeVar("T")


class Chooser(Protocol):
    """What an ICustomGrouping looks like once prepared."""

    def choose_tasks(self, values: Sequence[Any]) -> Sequence[int]: ...


class Custom(Generic[T]):
    """Asks the user's grouping and checks its answer."""

    def __init__(self, lanes: Mapping[int, T], chooser: Chooser, where: str) -> None:
        self._lanes = lanes
        self._choose = chooser.choose_tasks
        self._where = where

    def targets(self, row: tuple[Any, ...]) -> Sequence[T]:
        chosen = self._choose(list(row))
        try:
            return [self._lanes[task] for task in chosen]
        except (KeyError, TypeError):
            msg = (
                f"the custom grouping of {self._where} chose {chosen!r}: choose_tasks must return a list of"
                f" task ids out of {sorted(self._lanes)}"
            )
            raise TopologyError(msg) from None
