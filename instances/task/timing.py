"""Event time and processing time of one bolt: when its hooks for them are called."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from heronpy.instances.input.inflow import QueuedWatermark
from heronpy.kernel.flow.watermarks import UNKNOWN

if TYPE_CHECKING:
    from heronpy.bolt import Bolt
    from heronpy.instances.task.build import TaskWiring

MICROSECONDS = 1_000_000


class Timing:
    """Calls `on_watermark` and `on_clock`; for a bolt that has no such hook, watermarks are passed on.

    `on_watermark` does what is due and then says how far the task has come. Both may be generators: one is
    resumed once a turn, so that sockets are served, and no tuple is processed meanwhile.
    """

    def __init__(self, bolt: Bolt, parts: TaskWiring) -> None:
        self._parts = parts
        self._input = parts.input_time
        self._on_watermark: Callable[[int, bool], Any] = getattr(bolt, "on_watermark", self._pass_on)
        self._on_clock: Callable[[int], Any] | None = getattr(bolt, "on_clock", None)
        self._next_due: Callable[[], int | None] | None = getattr(bolt, "due", None)
        #: what on_watermark() or on_clock() has left to do
        self._firing: Iterator[None] | None = None
        #: when on_clock() is to be called next, by the wall clock
        self._due: int | None = None

    @property
    def busy(self) -> bool:
        """Whether one of them has more to do."""
        return self._firing is not None

    def begin(self) -> None:
        """The task is initialized, perhaps with what an earlier one has saved."""
        if self._input.floor > UNKNOWN:
            self._call()
        self.look()

    def take(self, item: QueuedWatermark) -> None:
        """A watermark has been taken from the inbox."""
        self._parts.inflow.take_watermark(item)
        if self._input.take(item):
            self._call()

    def begin_anew(self, came: Mapping[int, int]) -> None:
        """The task has other groups: it says first of all how far those have come."""
        self._input.begin_anew(came)
        if self._input.floor > UNKNOWN:
            self._call()

    def go_on(self) -> None:
        """Do some more of what is due."""
        if self._firing is not None:
            self._step(self._firing)

    def finish(self) -> None:
        """Do all of what is due."""
        while self._firing is not None:
            self._step(self._firing)

    def _call(self) -> None:
        self._parts.counters.other_calls += 1
        self.finish()  # a change of plan came between
        self._begin(self._on_watermark(self._input.floor, self._input.idle))

    def _begin(self, left: Iterator[None] | None) -> None:
        if left is not None:
            self._firing = left
            self._step(left)

    def _step(self, firing: Iterator[None]) -> None:
        try:
            next(firing)
        except StopIteration:
            self._firing = None

    def _pass_on(self, at: int, idle: bool) -> None:
        self._parts.outbox.following.emit_watermark(at, idle=idle)

    def look(self) -> None:
        """The bolt may have other alarms: ask when the next one is due."""
        if self._next_due is not None:
            self._due = self._next_due()

    def call_due(self) -> None:
        """Call on_clock() if its time has come."""
        if self._due is None or self._on_clock is None:
            return
        now = self._now()
        if now >= self._due:
            self._parts.counters.other_calls += 1
            self._begin(self._on_clock(now))
            self.look()

    def patience(self, longest: float, *, may_call: bool) -> float:
        """Seconds until something is due; on_clock() is nothing to wake up for while it may not be called."""
        longest = self._parts.outbox.following.patience(longest)
        if self._due is None or not may_call:
            return longest
        return min(longest, max(0, self._due - self._now()) / MICROSECONDS)

    def _now(self) -> int:
        return round(self._parts.wall() * MICROSECONDS)
