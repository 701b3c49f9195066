"""Timers of a task: ticks, and the buckets of the user's metrics."""

from __future__ import annotations

from collections.abc import Callable


class Schedule:
    """A few repeating calls, run by the task's own thread between tuples."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._entries: list[tuple[float, float, Callable[[], None]]] = []

    def every(self, seconds: float, call: Callable[[], None], first: float | None = None) -> None:
        """`first` is the delay of the first call, if it differs from the interval."""
        self._entries.append((self._clock() + (seconds if first is None else first), seconds, call))

    def patience(self, longest: float) -> float:
        """Seconds until the next call is due."""
        if not self._entries:
            return longest
        return min(longest, max(0.0, min(due for due, _, _ in self._entries) - self._clock()))

    def run_due(self) -> None:
        """Call what is due, once each: missed calls are not repeated."""
        if not self._entries:
            return
        now = self._clock()
        for number, (due, seconds, call) in enumerate(self._entries):
            if due <= now:
                following = due + seconds
                self._entries[number] = (following if following > now else now + seconds, seconds, call)
                call()
