"""Timers of a task: ticks, and the buckets of the user's metrics."""

from __future__ import annotations

from collections.abc import Callable


class Schedule:
    """A few repeating calls, run by the task's own thread between tuples."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._entries: list[tuple[float, float, Callable[[], None], Callable[[], bool]]] = []

    def every(
        self,
        seconds: float,
        call: Callable[[], None],
        first: float | None = None,
        *,
        matters: Callable[[], bool] = lambda: True,
    ) -> None:
        """`first` is the delay of the first call, if it differs from the interval.

        A call that does not matter wakes no task: it is made in a turn that has another reason.
        """
        due = self._clock() + (seconds if first is None else first)
        self._entries.append((due, seconds, call, matters))

    def patience(self, longest: float) -> float:
        """Seconds until the next call is due."""
        awaited = [due for due, _, _, matters in self._entries if matters()]
        return min(longest, max(0.0, min(awaited) - self._clock())) if awaited else longest

    def run_due(self) -> None:
        """Call what is due, once each: missed calls are not repeated."""
        if not self._entries:
            return
        now = self._clock()
        for number, (due, seconds, call, matters) in enumerate(self._entries):
            if due <= now:
                following = due + seconds if due + seconds > now else now + seconds
                self._entries[number] = (following, seconds, call, matters)
                call()
