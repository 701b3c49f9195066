"""Log lines about what may go wrong a million times in a row."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

#: seconds between two lines
INTERVAL = 10.0


class RateLimitedLog:
    """At most one line in ten seconds; each tells how many like it were left out before."""

    def __init__(self, log: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._clock = clock
        self._next = 0.0
        self._left_out = 0

    def warning(self, message: str, *args: object) -> None:
        now = self._clock()
        if now < self._next:
            self._left_out += 1
            return
        before = f" ({self._left_out} more before it)" if self._left_out else ""
        self._next, self._left_out = now + INTERVAL, 0
        self._log.warning(message + before, *args)
