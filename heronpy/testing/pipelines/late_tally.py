"""Late records that were dropped, also by tasks that are gone."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from heronpy.operators.stage_logic import StageLogic

#: the logics of all tasks that there are
Logics: TypeAlias = Callable[[], Sequence[StageLogic]]


class LateTally:
    """By step: as with results, what a crash has undone does not count."""

    def __init__(self, logics: Logics) -> None:
        self._logics = logics
        self._of_gone: Counter[str] = Counter()
        self._at_checkpoint: Counter[str] = Counter()

    def of(self, step: str) -> int:
        return self._total()[step]

    def checkpoint(self) -> None:
        """What was dropped so far is not undone by a crash."""
        self._at_checkpoint = self._total()

    @contextlib.contextmanager
    def tasks_change(self) -> Iterator[None]:
        """Tasks come and go meanwhile."""
        before = self._logics()
        yield
        now = set(map(id, self._logics()))
        for logic in before:
            if id(logic) not in now:
                self._of_gone.update(logic.late_dropped)

    def back_to_checkpoint(self) -> None:
        """All tasks were made anew, and drop again what they drop again."""
        self._of_gone = self._at_checkpoint.copy()

    def _total(self) -> Counter[str]:
        total = self._of_gone.copy()
        for logic in self._logics():
            total.update(logic.late_dropped)
        return total
