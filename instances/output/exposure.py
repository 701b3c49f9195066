"""How much would be lost with this task, told in steps, so that it is news only when it has grown."""

from __future__ import annotations

from heronpy.instances.counters import Counters

#: what is told is this much more than what is so, and holds until that has grown past it or shrunk far below
MARGIN = 1.25
FAR_BELOW = 0.25


class Exposure:
    """Credit that may be in use, and batches that may be open: an upper bound that others can rely on."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        self._now = 0

    def add(self, tuples: int) -> None:
        self._now += tuples
        if not FAR_BELOW * self._counters.exposed <= self._now <= self._counters.exposed:
            self._counters.exposed = int(MARGIN * self._now)
            self._counters.on_loss()
