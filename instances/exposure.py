"""How many tuples would be lost if this task died now, as an upper bound that is reported rarely.

The bound has to be known outside of this process before it is needed: a process that dies cannot report it.
Reporting every change would cost a heartbeat for nearly every batch; reporting at intervals would leave
the reported value below the true one between two reports, and a death in that time would be undercounted.
So a report has headroom: it is 25 % above the true value, and the next one is sent only when the true value
exceeds it or falls below a quarter of it. The bound holds at every moment, and steady traffic sends nothing.
"""

from __future__ import annotations

from heronpy.instances.counters import Counters

#: reported value / true value at the time of a report
MARGIN = 1.25
#: report again when the true value falls below this part of the reported one
FAR_BELOW = 0.25


class Exposure:
    """Credit that may be in use plus rows that may be in open batches."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        self._now = 0

    def add(self, tuples: int) -> None:
        self._now += tuples
        if not FAR_BELOW * self._counters.exposed <= self._now <= self._counters.exposed:
            self._counters.exposed = int(MARGIN * self._now)
            self._counters.on_loss()
