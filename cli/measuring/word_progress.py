"""How many words bolts have counted, and when: what they write down ten times a second."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final


class WordProgress:
    """When a task, or all tasks together, had counted how many words."""

    def __init__(self, tasks: Sequence[Sequence[tuple[float, int]]]) -> None:
        """`tasks` has the steps of each."""
        self._tasks = [steps or [(0.0, 0)] for steps in tasks]
        #: as far as is known of every task
        self.until: Final = min((steps[-1][0] for steps in self._tasks), default=0.0)
        self.seen: Final = sum(steps[-1][1] for steps in self._tasks)

    @classmethod
    def read(cls, *files: Path) -> WordProgress:
        """As far as it is written down."""
        return cls([_steps(file) for file in files])

    @classmethod
    def of_all(cls, folder: Path, tasks: int) -> WordProgress:
        """Of `progress-…` in this folder. Nothing is known until every one of so many tasks has begun."""
        files = sorted(folder.glob("progress-*"))
        return cls.read(*(files if len(files) == tasks else ()))

    def at(self, moment: float) -> float:
        """Words at this moment, between two steps in proportion."""
        return sum(_at(steps, moment) for steps in self._tasks)


def _steps(file: Path) -> list[tuple[float, int]]:
    """A last line that is not complete is none."""
    lines = file.read_text().split("\n")[:-1] if file.exists() else []
    return [(float(at), int(seen)) for at, seen in map(str.split, lines)]


def _at(steps: Sequence[tuple[float, int]], moment: float) -> float:
    for (before, few), (after, many) in pairwise(steps):
        if before <= moment <= after:
            return few + (many - few) * (moment - before) / (after - before)
    until, seen = steps[-1]
    return float(seen if moment > until else 0)
