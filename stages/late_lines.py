"""Log lines about records that came too late for their windows, before a run is over."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from typing import Final

from heronpy.operators.stage_logic import StageLogic

#: seconds between two lines of one step
EVERY: Final = 10.0


class LateLines:
    """Each step that has dropped records since its last line writes one, at most every ten seconds."""

    def __init__(
        self,
        stages: Iterable[StageLogic],
        log: logging.Logger,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stages, self._log, self._clock = tuple(stages), log, clock
        self._next = clock() + EVERY
        #: step → how many records the last line named
        self._told: dict[str, int] = {}

    def look(self) -> None:
        """Write what is due."""
        if (now := self._clock()) < self._next:
            return
        self._next = now + EVERY
        for stage in self._stages:
            for step, dropped in stage.late_dropped.items():
                if dropped != self._told.get(step, 0):
                    self._told[step] = dropped
                    self._log.warning("%s", stage.late[step])
