"""Time that only moves when a test says so."""

from __future__ import annotations

from heronpy.kernel.config.units import parse_duration


class Clock:
    """Stands still until it is advanced.

    >>> clock = Clock(epoch=1000)
    >>> clock.advance("1m")
    >>> clock.monotonic(), clock.time()
    (60.0, 1060.0)
    """

    def __init__(self, epoch: float = 0.0) -> None:
        self._epoch = epoch
        self._elapsed = 0.0

    def monotonic(self) -> float:
        """Seconds since the clock was made."""
        return self._elapsed

    def time(self) -> float:
        """The time of day, in seconds since 1970."""
        return self._epoch + self._elapsed

    def advance(self, duration: str | float) -> None:
        """Move on by "10s", "250ms" or a number of seconds. A component may do so to be slow."""
        self._elapsed += parse_duration(duration)
