"""Shuffle: the tasks in turn, from a random one."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from heronpy.instances.output.groupings.grouping import Grouping

T = TypeVar("T")


class Shuffle(Grouping[T]):
    """Even to within one tuple. `none` is the same, as in Storm. With `near`, only these tasks take turns."""

    def __init__(
        self,
        lanes: Mapping[int, T],
        pick: Callable[[int], int] = random.randrange,
        near: Sequence[int] = (),
    ) -> None:
        super().__init__(lanes)
        chosen = [lanes[task] for task in near or self._tasks]
        start = pick(len(chosen))
        self._count = len(chosen)
        self._turn = itertools.cycle([(lane,) for lane in (*chosen[start:], *chosen[:start])])

    def targets(self, row: tuple[Any, ...]) -> Sequence[T]:
        del row
        return next(self._turn)

    def split(
        self, rows: Sequence[tuple[Any, ...]], sent: Sequence[tuple[Any, ...]]
    ) -> Iterable[tuple[T, Sequence[tuple[Any, ...]]]]:
        """Dealt like cards: with n tasks, each gets every n-th row."""
        count = self._count
        pieces = [(next(self._turn)[0], sent[first::count]) for first in range(min(count, len(rows)))]
        if len(rows) > count:  # else the turn is where it belongs
            for _ in range(len(rows) % count):
                next(self._turn)
        return pieces

    def split_columns(self, batch: Any) -> Iterable[tuple[T, Any]]:
        """Whole batches in turn: each stays one frame and one call."""
        return [(next(self._turn)[0], batch)]
