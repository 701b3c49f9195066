"""Elapsed time and the time of day, which a test moves apart."""

from __future__ import annotations


class TwoClocks:
    """`now` is elapsed time; `set_by` is how far the time of day has been set away from it."""

    def __init__(self, now: float = 1000.0, set_by: float = 0.0) -> None:
        self.now = now
        self.set_by = set_by

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return self.now + self.set_by
