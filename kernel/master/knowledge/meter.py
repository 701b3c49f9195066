"""Turns the counters of one process into rates. Decides; has no clock of its own."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

from heronpy.kernel.protocol import MetricsReport

#: a rate is taken over at least this long: reports that were held up arrive all at once
SPAN = 0.5
#: the same numbers for this long mean a process that has stopped, not a report passed on twice
STALE = 2.5


class Reading(NamedTuple):
    """The values of one report, and when it came."""

    at: float
    values: Mapping[str, float]


class Meter:
    """The last reports of one process; its newest incarnation counts, and starts from nothing.

    Only `dropped` is added up over all incarnations: it stays lost.
    """

    def __init__(self) -> None:
        #: oldest first; the first is what the last is compared with
        self._readings: deque[Reading] = deque()
        self._incarnation = 0
        #: last values of earlier incarnations, added up
        self._dropped_before = 0.0
        #: counter → when the last report came in which it had grown; the first report counts as one
        self._grown_at: dict[str, float] = {}
        #: metrics that the user's code registered
        self.custom: dict[str, float] = {}

    def on_report(self, report: MetricsReport, at: float) -> None:
        """`at` is a reading of the monotonic clock."""
        if report.incarnation < self._incarnation:
            return
        if report.incarnation > self._incarnation:
            self._dropped_before = self.dropped
            # Another process's numbers: nothing to compare with.
            self._readings.clear()
            self._grown_at.clear()
        self._incarnation = report.incarnation
        values: dict[str, float] = {}
        custom: dict[str, float] = {}
        for sample in report.samples:
            if not math.isfinite(sample.value):
                continue  # not representable in JSON
            if sample.name == "custom":
                custom[sample.labels["metric"]] = sample.value
            else:
                values[sample.name] = values.get(sample.name, 0.0) + sample.value
        self.custom = custom
        self._take(Reading(at, values))

    def total(self, name: str) -> float:
        return self._readings[-1].values.get(name, 0.0) if self._readings else 0.0

    @property
    def dropped(self) -> float:
        """By all incarnations, each as of its last report."""
        return self._dropped_before + self.total("dropped")

    def delta(self, name: str) -> float:
        """What was added between the last two reports; all there is, when there is only one."""
        before = self._readings[0].values.get(name, 0.0) if len(self._readings) > 1 else 0.0
        return max(0.0, self.total(name) - before)

    def idle(self, name: str, now: float) -> float:
        """Seconds for which a counter has not grown; 0 while nothing is known of the process."""
        first = self._grown_at.get("", now)
        return max(0.0, now - self._grown_at.get(name, first))

    def rate(self, name: str) -> float:
        """A second; 0 until there are two reports to compare."""
        elapsed = self._readings[-1].at - self._readings[0].at if self._readings else 0.0
        return self.delta(name) / elapsed if elapsed >= SPAN else 0.0

    def ratio(self, numerator: str, denominator: str) -> float:
        """Of what was added between the last two reports."""
        below = self.delta(denominator)
        return self.delta(numerator) / below if below else 0.0

    def _take(self, reading: Reading) -> None:
        readings = self._readings
        # A Metrics Manager passes on the newest report it has, which may be known here already.
        if readings and reading.values == readings[-1].values and reading.at - readings[-1].at < STALE:
            return
        if not readings:
            self._grown_at[""] = reading.at
        else:
            before = readings[-1].values
            self._grown_at.update(
                (name, reading.at) for name, value in reading.values.items() if value > before.get(name, 0.0)
            )
        readings.append(reading)
        while len(readings) > 2 and reading.at - readings[1].at >= SPAN:
            readings.popleft()
