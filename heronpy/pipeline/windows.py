"""Windows: where in event time records belong together. `clicks.window(sliding("30m", every="5s"))`."""

from __future__ import annotations

import abc
import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, NamedTuple, TypeAlias

from heronpy.pipeline.checks import Duration, checked_micros, refuse_unless
from heronpy.pipeline.times import BEGINNING, END, to_datetime, to_micros

#: start and end of a window, in microseconds since the epoch
Bounds: TypeAlias = tuple[int, int]


class Window(NamedTuple):
    """From `start` on, and before `end`."""

    start: datetime
    end: datetime


@functools.lru_cache(maxsize=1024)
def window_of(bounds: Bounds) -> Window:
    """The window as users see it."""
    return Window(to_datetime(bounds[0]), to_datetime(bounds[1]))


class Windows(abc.ABC):
    """Which windows a record is in. A subclass of one's own has `assign`, and `merge` if its windows grow.

    >>> class Days(Windows):
    ...     def assign(self, value, time):
    ...         day = time.replace(hour=0, minute=0, second=0, microsecond=0)
    ...         return [Window(day, day + timedelta(days=1))]
    """

    #: whether windows of one key grow together
    merging: ClassVar[bool] = False

    @abc.abstractmethod
    def assign(self, value: Any, time: datetime) -> Iterable[Window]:
        """The windows of a record, which has this event time."""

    def merge(self, windows: Sequence[Window]) -> Iterable[tuple[Window, Sequence[Window]]]:
        """Each window that there shall be, with those of `windows` that it is made of; needs `merging`."""
        return [(window, [window]) for window in windows]

    def bounds(self, value: Any, time: int) -> Sequence[Bounds]:
        """`assign` in microseconds."""
        return [_checked(window) for window in self.assign(value, to_datetime(time))]

    def united(self, bounds: Sequence[Bounds]) -> Sequence[tuple[Bounds, Sequence[Bounds]]]:
        """`merge` in microseconds."""
        merged = self.merge([window_of(one) for one in bounds])
        return [(_checked(whole), [_checked(part) for part in parts]) for whole, parts in merged]


def _checked(window: Window) -> Bounds:
    start, end = to_micros(window[0]), to_micros(window[1])
    if start >= end:
        msg = f"the window from {window[0]} to {window[1]} is empty"
        raise ValueError(msg)
    return start, end


@dataclass(frozen=True)
class AlignedWindows(Windows):
    """Windows of one size that begin at multiples of `every` since the epoch, plus an offset."""

    size: int
    every: int
    offset: int = 0

    def assign(self, value: Any, time: datetime) -> Iterable[Window]:
        return [window_of(bounds) for bounds in self.bounds(value, to_micros(time))]

    def bounds(self, value: Any, time: int) -> Sequence[Bounds]:  # noqa: ARG002 - by time alone
        every, size = self.every, self.size
        last = time - (time - self.offset) % every
        if every == size:
            return ((last, last + size),)
        return [(start, start + size) for start in range(last, time - size, -every)][::-1]


@dataclass(frozen=True)
class SessionWindows(Windows):
    """A record's window lasts for `gap`; windows that overlap are one."""

    gap: int
    merging = True

    def assign(self, value: Any, time: datetime) -> Iterable[Window]:
        return [window_of(bounds) for bounds in self.bounds(value, to_micros(time))]

    def bounds(self, value: Any, time: int) -> Sequence[Bounds]:  # noqa: ARG002 - by time alone
        return ((time, time + self.gap),)

    def united(self, bounds: Sequence[Bounds]) -> Sequence[tuple[Bounds, Sequence[Bounds]]]:
        found: list[tuple[Bounds, list[Bounds]]] = []
        for one in sorted(bounds):
            if found and one[0] < found[-1][0][1]:  # windows that only touch stay two
                (start, end), parts = found[-1]
                found[-1] = (start, max(end, one[1])), [*parts, one]
            else:
                found.append((one, [one]))
        return found


@dataclass(frozen=True)
class EverythingWindow(Windows):
    """One window, which ends with the input."""

    def assign(self, value: Any, time: datetime) -> Iterable[Window]:
        return [window_of(bounds) for bounds in self.bounds(value, to_micros(time))]

    def bounds(self, value: Any, time: int) -> Sequence[Bounds]:  # noqa: ARG002 - all are in it
        return ((BEGINNING, END),)


@dataclass(frozen=True)
class WindowsOfResults(Windows):
    """Each result is in the window that it is of."""

    def assign(self, value: Any, time: datetime) -> Iterable[Window]:  # noqa: ARG002 - the result knows
        return [value.window]


def tumbling(size: Duration, *, offset: Duration = 0) -> Windows:
    """Windows side by side: each record is in one. They begin at multiples of `size` since the epoch, in UTC,
    plus `offset`."""
    micros = checked_micros("tumbling: size", size)
    return AlignedWindows(micros, micros, checked_micros("tumbling: offset", offset, least=0) % micros)


def sliding(size: Duration, *, every: Duration) -> Windows:
    """Windows that overlap: one begins every so often, so each record is in `size / every` of them."""
    whole, step = checked_micros("sliding: size", size), checked_micros("sliding: every", every)
    refuse_unless(
        step <= whole,
        f"sliding({size!r}, every={every!r}) leaves out what lies between two windows",
        hint=f"sliding({size!r}, every={size!r}), or shorter",
    )
    return AlignedWindows(whole, step)


def sessions(gap: Duration) -> Windows:
    """Windows of activity: one ends where no record of the key has come for `gap` of event time."""
    return SessionWindows(checked_micros("sessions: gap", gap))


def everything() -> Windows:
    """One window of all time, for triggers that speak before the end: `trigger=every("10s")`."""
    return EverythingWindow()
