"""What a task does by the clock: ticks, and the buckets of the user's metrics."""

from __future__ import annotations

from collections.abc import Callable


class Schedule:
    """A few repeating calls, run by the task's own thread between tuples."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._entries: list[tuple[float, float, Callable[[], None]]] = []

    def every(self, seconds: float, call: Callable[[], None], first: float | None = None) -> None:
        """`first` is when it is called first, if not after as long as later."""
        self._entries.append((self._clock() + (seconds if first is None else first), seconds, call))

    def patience(self, longest: float) -> float:
        """How long one may wait before the next call is due."""
        if not self._entries:
            return longest
        return min(longest, max(0.0, min(due for due, _, _ in self._entries) - self._clock()))

    def run_due(self) -> None:
        """Call what is due, once each: a late call is not made up for twice."""
        if not self._entries:
            return
        now = self._clock()
        for number, (due, seconds, call) in enumerate(self._entries):
            if due <= now:
                following = due + seconds
                self._entries[number] = (following if following > now else now + seconds, seconds, call)
                call()
