"""Detects missing heartbeats, on a clock that stops while the observing process is stopped. Pure."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

Who = TypeVar("Who", bound=Hashable)

#: checks within the longest silence that is allowed
LOOKS = 8

#: seconds between two looks, however patient the owner is
LONGEST = 1.0


class SilenceDetector(Generic[Who]):
    """Measures silence. Each round: look(), then hear() for every heartbeat received, then silent().

    An observer that was stopped, starved or asleep received no heartbeats meanwhile, which is not a fault of
    the others: of the time between two looks, at most two intervals count.
    """

    def __init__(self, patience: float, longest: float = LONGEST) -> None:
        self.patience = patience
        #: how often to look
        self.interval = min(longest, patience / LOOKS)
        self._looked: float | None = None
        self._time = 0.0
        self._heard: dict[Who, float] = {}
        #: allowed silence where it is longer than `patience`
        self._allowed: dict[Who, float] = {}

    def look(self, now: float) -> None:
        if self._looked is not None:
            self._time += min(max(0.0, now - self._looked), 2 * self.interval)
        self._looked = now

    def next_look(self) -> float | None:
        """When to look again; None while no heartbeat is expected."""
        if not self._heard:
            return None
        return self._looked + self.interval if self._looked is not None else 0.0

    def hear(self, who: Who) -> None:
        """A sign of life, or the beginning of the wait for one."""
        self._heard[who] = self._time
        self._allowed.pop(who, None)

    def expect(self, who: Who, patience: float) -> None:
        """The beginning of the wait for a first sign, which may take longer than the next ones."""
        self._heard[who] = self._time
        self._allowed[who] = max(self.patience, patience)

    def forget(self, who: Who) -> None:
        self._heard.pop(who, None)
        self._allowed.pop(who, None)

    def awaits(self, who: Who) -> bool:
        return who in self._heard

    def quiet(self, who: Who) -> float:
        """Seconds since the last heartbeat; 0 if none is expected."""
        return self._time - self._heard.get(who, self._time)

    def silent(self) -> list[Who]:
        """Processes that have been quiet for longer than they may."""
        return [who for who in self._heard if self.quiet(who) > self._allowed.get(who, self.patience)]
