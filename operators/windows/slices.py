"""One accumulator per key and slice: the core for windows that slide, where a record is added once.

A slice is as long as the greatest common divisor of a window's size and its slide, so that windows are made
of whole slices: 30 minutes every 5 seconds is one addition per record, not 360.
"""

from __future__ import annotations

import math
from typing import Any

from heronpy.kernel.own_copies import own_copy
from heronpy.operators.kept import Kept
from heronpy.operators.windows.sliding_totals import Deducted, TwoStacks, changes_left, inexact
from heronpy.operators.windows.window_panes import IN_TIME, NEVER, Element, Fired, WindowPartial, WindowRules
from heronpy.pipeline.times import END
from heronpy.pipeline.triggers import AtWatermark
from heronpy.pipeline.windows import AlignedWindows, Bounds


class KeySlices(Kept):
    """The slices of one key."""

    __slots__ = ("alarm", "next", "panes", "slices", "sliding", "until", "wake")

    def __init__(self) -> None:
        #: start → accumulator
        self.slices: dict[int, Any] = {}
        #: the slices of the window that comes next, as far as they were there for the one before
        self.sliding: Deducted | TwoStacks | None = None
        #: the end of the slices that `sliding` has seen
        self.until = 0
        #: the end of the window that comes next
        self.next = NEVER
        #: windows that may still be refined → their last pane, with its value if it has to be taken back
        self.panes: dict[Bounds, Fired] = {}
        self.wake = self.alarm = NEVER


def slides(rules: WindowRules) -> bool:
    """Whether slices can carry these windows; else each window has an accumulator of its own."""
    windows = rules.windows
    overlap = isinstance(windows, AlignedWindows) and windows.every < windows.size
    return overlap and rules.trigger == AtWatermark() and rules.aggregate.combine is not None


class SliceCore:
    """Windows on time, by slices that enter and leave, and a late pane for each late record."""

    def __init__(self, rules: WindowRules) -> None:
        assert isinstance(rules.windows, AlignedWindows)
        assert rules.aggregate.combine is not None
        self._rules, self._windows, self._aggregate = rules, rules.windows, rules.aggregate
        self._combine, self._deduct = rules.aggregate.combine, rules.aggregate.deduct
        self._changes_left: bool | None = None
        self._slice = math.gcd(rules.windows.size, rules.windows.every)

    def create(self) -> KeySlices:
        return KeySlices()

    def empty(self, state: KeySlices) -> bool:
        return not state.slices

    def element(self, state: KeySlices, element: Element, fired: list[Fired]) -> int:
        start = element.time - (element.time - self._windows.offset) % self._slice
        if element.time < element.watermark:
            return self._late(state, start, element, fired)
        if start not in state.slices:
            self._expect(state, self._first_end(start))
        self._add(state, start, element)
        return IN_TIME

    def advance(
        self,
        state: KeySlices,
        watermark: int,
        now: int,  # noqa: ARG002 - processing time has no part in it
        fired: list[Fired],
        before: int,  # noqa: ARG002 - slices have an end
    ) -> None:
        while state.next <= watermark:
            self._on_time(state, fired)
        if self._rules.lateness:
            self._forget(state, watermark)
        state.wake = min(state.next, self._first_expiry(state))

    def clock(self, state: KeySlices, watermark: int, now: int, fired: list[Fired]) -> None:
        """Processing time has no part in it."""

    def _add(self, state: KeySlices, start: int, element: Element) -> None:
        slices, value = state.slices, element.value
        if type(value) is WindowPartial:
            own = value.accumulator
            slices[start] = self._combine(slices[start], own) if start in slices else own
            return
        before = slices[start] if start in slices else self._aggregate.create()
        slices[start] = self._aggregate.add(before, value)

    def _expect(self, state: KeySlices, end: int) -> None:
        if end < state.next:
            state.next = end
            state.wake = min(state.wake, end)

    def _first_end(self, start: int) -> int:
        """The end of the first window that a slice is in."""
        windows = self._windows
        least = start + self._slice - windows.size
        return least + (windows.offset - least) % windows.every + windows.size

    def _late(self, state: KeySlices, start: int, element: Element, fired: list[Fired]) -> int:
        behind, refined = IN_TIME, []
        all_bounds = self._windows.bounds(None, element.time)
        for bounds in all_bounds:
            if self._rules.expired(bounds, element.watermark):
                behind = max(behind, element.watermark - bounds[1])
            elif bounds[1] <= element.watermark:
                refined.append(bounds)
            else:
                self._expect(state, bounds[1])
        if behind == IN_TIME or not self._rules.expired(all_bounds[-1], element.watermark):
            self._add(state, start, element)
            if start < state.until:
                state.sliding = None  # has the slice as it was: made anew for the next window
            state.wake = min(state.wake, state.next, self._first_expiry(state))
        for bounds in refined:
            self._refine(state, bounds, element, fired)
        return behind

    def _refine(self, state: KeySlices, bounds: Bounds, element: Element, fired: list[Fired]) -> None:
        panes, aggregate = self._rules.panes, self._aggregate
        before = state.panes.get(bounds)
        if panes == "discarding":
            total = self._rules.with_record(aggregate.create(), element.value, retracts=False)
        else:
            inside = [state.slices[start] for start in self._between(state, *bounds)]
            total = inside[0]
            for one in inside[1:]:
                total = self._combined(total, one)
        if panes == "retracting" and before is not None:
            fired.append(before._replace(retracts=True))
        number = 0 if before is None else before.number + 1
        self._show(state, Fired(bounds, aggregate.finish(total), "late", number, time=bounds[1] - 1), fired)

    def _show(self, state: KeySlices, pane: Fired, fired: list[Fired]) -> None:
        fired.append(pane)
        if not pane.last:
            retracting = self._rules.panes == "retracting"
            state.panes[pane.bounds] = pane if retracting else pane._replace(value=None)

    def _combined(self, left: Any, right: Any) -> Any:
        """Both, which stay as they are: a `combine` that changes its left side gets a copy of it."""
        if self._changes_left is None:
            self._changes_left = changes_left(self._aggregate.create, self._combine)
        return self._combine(own_copy(left) if self._changes_left else left, right)

    def _on_time(self, state: KeySlices, fired: list[Fired]) -> None:
        """The window that comes next: slices enter, it speaks, and those that leave it do so at once."""
        end, every = state.next, self._windows.every
        begin = end - self._windows.size
        self._enter(state, begin, end)
        sliding = state.sliding
        assert sliding is not None
        if sliding.starts:
            value = self._aggregate.finish(sliding.total(self._combined))
            last = not self._rules.lateness
            self._show(state, Fired((begin, end), value, "on_time", 0, last, time=end - 1), fired)
        while sliding.starts and sliding.starts[0] < begin + every:
            start = sliding.starts[0]
            sliding.leave(start, state.slices, self._combined, self._deduct)
            if not self._rules.lateness:
                del state.slices[start]
        if sliding.starts:
            state.next = end + every
            return
        state.sliding = None
        later = min((start for start in state.slices if start >= end), default=None)
        state.next = NEVER if later is None else max(end + every, self._first_end(later))

    def _enter(self, state: KeySlices, begin: int, end: int) -> None:
        if state.sliding is None:
            state.sliding = Deducted() if self._deduct is not None else TwoStacks()
            state.until = begin
        for start in self._between(state, state.until, end):
            if isinstance(state.sliding, Deducted) and inexact(state.slices[start]):
                state.sliding = self._anew(state, state.sliding.starts)
            state.sliding.enter(start, state.slices, self._combined)
        state.until = end

    def _between(self, state: KeySlices, begin: int, end: int) -> list[int]:
        """The starts of slices that are there, in order; of an uneven slide there could be millions."""
        slices = state.slices
        if (end - begin) // self._slice <= len(slices):
            return [start for start in range(begin, end, self._slice) if start in slices]
        return sorted(start for start in slices if begin <= start < end)

    def _anew(self, state: KeySlices, starts: list[int]) -> TwoStacks:
        """The same slices, of which none will be deducted."""
        stacks = TwoStacks()
        for start in starts:
            stacks.enter(start, state.slices, self._combined)
        return stacks

    def _last_end(self, start: int) -> int:
        windows = self._windows
        return start - (start - windows.offset) % windows.every + windows.size

    def _first_expiry(self, state: KeySlices) -> int:
        """When the oldest slice can go, if it does not go by leaving its last window."""
        oldest = min(state.slices, default=None) if self._rules.lateness else None
        return NEVER if oldest is None else min(END, self._last_end(oldest) + self._rules.lateness)

    def _forget(self, state: KeySlices, watermark: int) -> None:
        """What may not be refined any more."""
        lateness, over = self._rules.lateness, watermark == END
        for start in [s for s in state.slices if over or self._last_end(s) + lateness <= watermark]:
            del state.slices[start]
        for bounds in [bounds for bounds in state.panes if self._rules.expired(bounds, watermark)]:
            del state.panes[bounds]
