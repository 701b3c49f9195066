"""Watermarks: how far event time has come in a split of a source. Watermark W: nothing older is expected."""

from __future__ import annotations

import abc
import bisect
from collections import deque
from collections.abc import Sequence
from typing import Final

from heronpy.pipeline.checks import Duration, checked_micros, refuse_unless
from heronpy.pipeline.times import BEGINNING

_MINUTE: Final = 60_000_000
#: upper ends of the buckets in which a percentile counts lateness: eight to a power of two
_BUCKETS: Final = sorted({(8 + part) << power >> 3 for power in range(48) for part in range(8)} | {0})


class Watermarks(abc.ABC):
    """How one split's watermark follows from its records. Each split has a copy; times are in microseconds.

    What `current` says is never taken back: a smaller value than before changes nothing.
    """

    #: microseconds by which records may be out of order
    lag: int = 0

    def on_record(self, time: int) -> None:  # noqa: B027 - optional
        """A record with this event time has come."""

    def on_records(self, times: Sequence[int]) -> None:
        """Several, in their order."""
        for time in times:
            self.on_record(time)

    @abc.abstractmethod
    def current(self, now: int, caught_up: bool) -> int:
        """The watermark at this processing time; `caught_up`: the split has nothing more for now."""


class BoundedDisorder(Watermarks):
    """The largest time so far, less a lag. With a lag of 0, records are in order."""

    def __init__(self, lag: int) -> None:
        self.lag = lag
        self._largest: int | None = None

    def on_records(self, times: Sequence[int]) -> None:
        if times:
            largest = max(times)
            self._largest = largest if self._largest is None else max(largest, self._largest)

    def current(self, now: int, caught_up: bool) -> int:  # noqa: ARG002 - by records alone
        return BEGINNING if self._largest is None else self._largest - self.lag


class OfArrival(Watermarks):
    """Event time is the time of arrival, so the watermark is now."""

    def current(self, now: int, caught_up: bool) -> int:  # noqa: ARG002 - always moves
        return now


class OfSource(Watermarks):
    """What the source says of the split: perfect, if it knows."""

    def on_records(self, times: Sequence[int]) -> None:
        """They say nothing."""

    def current(self, now: int, caught_up: bool) -> int:  # noqa: ARG002 - by what the source says
        return BEGINNING


class Percentile(Watermarks):
    """The largest time so far, less the lateness that a share of the records of the last ten minutes had."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._largest: int | None = None
        #: one list of counts, by bucket, for each of the last minutes
        self._minutes: deque[tuple[int, list[int]]] = deque()
        self._fresh: list[int] = []

    def on_record(self, time: int) -> None:
        largest = time if self._largest is None else max(time, self._largest)
        self._largest = largest
        self._fresh.append(bisect.bisect_left(_BUCKETS, largest - time))

    def current(self, now: int, caught_up: bool) -> int:  # noqa: ARG002 - by records alone
        minute = now // _MINUTE
        if self._fresh:
            if not self._minutes or self._minutes[-1][0] != minute:
                self._minutes.append((minute, [0] * (len(_BUCKETS) + 1)))
            for bucket in self._fresh:
                self._minutes[-1][1][bucket] += 1
            self._fresh = []
        while len(self._minutes) > 1 and self._minutes[0][0] <= minute - 10:
            self._minutes.popleft()
        return BEGINNING if self._largest is None else self._largest - self._behind()

    def _behind(self) -> int:
        counts = [sum(column) for column in zip(*(counts for _, counts in self._minutes), strict=True)]
        left = self._share * sum(counts)
        for bucket, count in enumerate(counts):
            left -= count
            if left <= 0:
                return _BUCKETS[min(bucket, len(_BUCKETS) - 1)]
        return _BUCKETS[-1]


#: `event_time(…, lag=ARRIVAL)`: records have the time at which they come
ARRIVAL: Final = OfArrival()
#: `event_time(…, lag=SOURCE)`: the source knows its watermark
SOURCE: Final = OfSource()


def percentile(percent: float) -> Watermarks:
    """The lag is what so many percent of the last ten minutes' records kept to."""
    refuse_unless(0 < percent <= 100, f"percentile({percent!r}) is no percentage", hint="percentile(99)")
    return Percentile(percent / 100)


def checked_watermarks(lag: Duration | Watermarks) -> Watermarks:
    """The strategy that a lag stands for."""
    if isinstance(lag, Watermarks):
        return lag
    return BoundedDisorder(checked_micros("event_time: lag", lag, least=0))
