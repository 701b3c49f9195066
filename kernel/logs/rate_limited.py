"""Rate limits for log lines about failures that may repeat a million times."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable

from typing_extensions import override

#: seconds between two lines
INTERVAL = 10.0

#: warnings and errors that differ in numbers only: so many at once, then one in so many seconds
BURST = 20
SPACING = 6.0
#: different ones that are known; the oldest are forgotten
MOST = 256

_ENGINE = "heronpy."
_NUMBERS = re.compile(r"\d+")


class RateLimitedLog:
    """At most one line in ten seconds; each has the number of lines left out before it."""

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


class Repeats(logging.Filter):
    """Limits warnings and errors of the engine that repeat, so that the log keeps room for others.

    What was left out is counted in the next line like it. Lines of components are all written.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        #: text of a line without its numbers → until when its burst counts, and how many were left out
        self._known: dict[tuple[str, str], tuple[float, int]] = {}

    @override
    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING or not record.name.startswith(_ENGINE):
            return True
        now, key = self._clock(), (record.name, _NUMBERS.sub("", record.getMessage()))
        # Each line counts for SPACING seconds, one after the other; a burst is what is not over yet.
        until, left_out = self._known.pop(key, (now, 0))
        after = max(until, now) + SPACING
        written = after - now <= BURST * SPACING
        self._known[key] = (after, 0) if written else (until, left_out + 1)
        if len(self._known) > MOST:
            del self._known[next(iter(self._known))]
        if written and left_out:
            record.msg = f"{record.getMessage()} ({left_out} more like it before)"
            record.args = ()
        return written
