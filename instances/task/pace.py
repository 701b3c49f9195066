"""How many calls into user code make about a millisecond: the unit between two looks at the clock."""

from __future__ import annotations

_SHORT = 0.0005
#: a chunk that has lasted this long is cut off: calls that were short may suddenly block
LONG = 0.0015


class Pace:
    """Chunks grow and shrink so that clocks, flags and flushes cost nothing per tuple."""

    __slots__ = ("_most", "chunk", "seconds_per_call")

    def __init__(self, most: int = 1024) -> None:
        self._most = most
        self.chunk = 1
        #: smoothed; 0 until measured
        self.seconds_per_call = 0.0

    def measured(self, calls: int, seconds: float) -> None:
        each = seconds / calls
        known = self.seconds_per_call
        self.seconds_per_call = each if known == 0.0 else 0.8 * known + 0.2 * each
        if seconds < _SHORT and calls >= self.chunk:
            self.chunk = min(self.chunk * 2, self._most)
        elif seconds > LONG:
            self.chunk = max(min(self.chunk // 2, int(calls * LONG / seconds)), 1)

    def slow_down(self) -> None:
        """Nothing came of the last chunk: ask once at a time."""
        self.chunk = 1
