"""Shuffle: the tasks in turn, from a random one."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Shuffle(Generic[T]):
    """Even to within one tuple. `none` is the same, as in Storm."""

    def __init__(self, lanes: Sequence[T], pick: Callable[[int], int] = random.randrange) -> None:
        start = pick(len(lanes))
        self._turn = itertools.cycle([(lane,) for lane in (*lanes[start:], *lanes[:start])])

    def targets(self, row: tuple[Any, ...]) -> Sequence[T]:
        del row
        return next(self._turn)
