"""Generators that wait between two elements."""

from __future__ import annotations

import time

from heronpy.streamlet.generator import Generator


class PacedGenerator(Generator):
    """Knows when its next element is due, so that a task need not sleep with it."""

    def __init__(self, sleep: float | None) -> None:
        self._sleep = sleep or 0.0
        self._begun = time.monotonic()

    def begin_pause(self) -> None:
        """The next element is due `sleep` seconds from now."""
        self._begun = time.monotonic()

    def remaining(self) -> float:
        """Seconds until the next element is due; not above 0 if it is."""
        return self._begun + self._sleep - time.monotonic() if self._sleep else 0.0
