"""One accumulator per key and window: the core for windows, triggers and panes of all kinds."""

from __future__ import annotations

import heapq
from typing import Any

from heronpy.operators.kept import Kept
from heronpy.operators.windows import trigger_steps
from heronpy.operators.windows.trigger_steps import WindowEvent
from heronpy.operators.windows.window_panes import IN_TIME, NEVER, Element, Fired, WindowRules, records_in
from heronpy.pipeline.records import Timing
from heronpy.pipeline.times import BEGINNING, END
from heronpy.pipeline.triggers import AtWatermark
from heronpy.pipeline.windows import Bounds

#: how many entries of windows that are gone are no reason to look for them
_SPARE = 16


class OpenWindow(Kept):
    """What is kept of one window of one key."""

    __slots__ = (
        "accumulator",
        "index",
        "new",
        "newest",
        "owed",
        "passed",
        "records",
        "shown",
        "trigger",
    )

    def __init__(self, accumulator: Any, trigger: Any) -> None:
        self.accumulator, self.trigger = accumulator, trigger
        #: records in it, less those that were taken back; and records that were not shown yet
        self.records = self.new = 0
        #: number of the next pane
        self.index = 0
        #: the largest event time in it
        self.newest = BEGINNING
        #: the watermark has passed its end
        self.passed = False
        #: the pane that was shown last, if it has to be taken back
        self.shown: Fired | None = None
        #: panes of windows that have become part of this one, to be taken back with its next pane
        self.owed: list[Fired] = []


class KeySpans(Kept):
    """The windows of one key."""

    __slots__ = ("alarm", "due", "open", "wake")

    def __init__(self) -> None:
        self.open: dict[Bounds, OpenWindow] = {}
        #: a heap of watermarks and the windows that wait for them, with some that are gone
        self.due: list[tuple[int, Bounds]] = []
        self.wake = self.alarm = NEVER


class SpanCore:
    """Takes records into their windows, asks the trigger, and makes panes."""

    def __init__(self, rules: WindowRules) -> None:
        self._rules, self._trigger = rules, rules.trigger
        #: a record before the watermark needs no look at the trigger
        self._quiet = isinstance(rules.trigger, AtWatermark) and rules.trigger.early is None

    def create(self) -> KeySpans:
        return KeySpans()

    def empty(self, state: KeySpans) -> bool:
        return not state.open

    def element(self, state: KeySpans, element: Element, fired: list[Fired]) -> int:
        rules, behind = self._rules, IN_TIME
        for bounds in rules.windows.bounds(element.value, element.time):
            if rules.windows.merging:
                bounds = self._united(state, bounds, element.watermark)
            if bounds not in state.open and rules.expired(bounds, element.watermark):
                behind = max(behind, element.watermark - bounds[1])
                continue
            window = state.open.get(bounds) or self._opened(state, bounds, element.watermark)
            window.accumulator = rules.with_record(window.accumulator, element.value, element.retracts)
            number = records_in(element.value)
            window.records += -number if element.retracts else number
            window.new += number
            window.newest = max(window.newest, element.time)
            if window.passed or not self._quiet:
                event = WindowEvent("record", element.now, window.passed)
                self._ask(state, bounds, event, fired, element.watermark)
        return behind

    def advance(self, state: KeySpans, watermark: int, now: int, fired: list[Fired], before: int) -> None:
        due: set[Bounds] = set()
        while state.due and state.due[0][0] <= watermark:
            due.add(heapq.heappop(state.due)[1])
        for bounds in sorted(due & state.open.keys(), key=lambda bounds: (bounds[1], bounds[0])):
            window = state.open[bounds]
            expired = self._rules.expired(bounds, watermark)
            timing: Timing = "late" if window.passed else "on_time"
            if not window.passed:
                window.passed = True
                self._ask(state, bounds, WindowEvent("watermark", now, True), fired, before, last=expired)
            if expired:
                if window.new:
                    self._fire(bounds, window, timing, fired, before, last=True)
                del state.open[bounds]
            else:
                self._wait(state, bounds, window)
        while state.due and state.due[0][1] not in state.open:
            heapq.heappop(state.due)
        state.wake = state.due[0][0] if state.due else NEVER

    def clock(self, state: KeySpans, watermark: int, now: int, fired: list[Fired]) -> None:
        for bounds in sorted(state.open):
            self._ask(state, bounds, WindowEvent("clock", now, watermark >= bounds[1]), fired, watermark)
        state.alarm = self._alarm(state)

    def _opened(self, state: KeySpans, bounds: Bounds, watermark: int) -> OpenWindow:
        accumulator, trigger = self._rules.aggregate.create(), trigger_steps.begin(self._trigger)
        window = state.open[bounds] = OpenWindow(accumulator, trigger)
        window.passed = watermark >= bounds[1]
        self._wait(state, bounds, window)
        return window

    def _wait(self, state: KeySpans, bounds: Bounds, window: OpenWindow) -> None:
        """For the end of the window, and behind that until it expires."""
        until = min(END, bounds[1] + self._rules.lateness) if window.passed else bounds[1]
        heapq.heappush(state.due, (until, bounds))
        if len(state.due) > 2 * len(state.open) + _SPARE:  # a session leaves one behind with each record
            state.due = sorted({entry for entry in state.due if entry[1] in state.open})
        state.wake = min(state.wake, until)

    def _alarm(self, state: KeySpans) -> int:
        if self._quiet and getattr(self._trigger, "late", None) is None:
            return NEVER
        deadlines = (trigger_steps.deadline(self._trigger, window.trigger) for window in state.open.values())
        return min((one for one in deadlines if one is not None), default=NEVER)

    def _ask(
        self,
        state: KeySpans,
        bounds: Bounds,
        event: WindowEvent,
        fired: list[Fired],
        present: int,
        *,
        last: bool = False,
    ) -> None:
        window = state.open[bounds]
        fires, window.trigger = trigger_steps.step(self._trigger, event, window.trigger)
        if fires:
            timing: Timing = "early"
            if event.passed:
                timing = "on_time" if event.kind == "watermark" else "late"
            self._fire(bounds, window, timing, fired, present, last=last)
        if event.kind == "record":  # the end of `until` is waited for whether or not there was a pane
            deadline = trigger_steps.deadline(self._trigger, window.trigger)
            state.alarm = min(state.alarm, NEVER if deadline is None else deadline)

    def _fire(
        self,
        bounds: Bounds,
        window: OpenWindow,
        timing: Timing,
        fired: list[Fired],
        present: int,
        *,
        last: bool,
    ) -> None:
        """A pane; without anything new only the one on time, where panes say what there is so far."""
        window.trigger = trigger_steps.renewed(self._trigger, window.trigger)
        panes, aggregate = self._rules.panes, self._rules.aggregate
        if not window.new and (timing != "on_time" or panes != "accumulating"):
            return
        fired += window.owed
        if window.shown is not None:  # at its own time: those behind take it out of where they have put it
            fired.append(window.shown._replace(retracts=True))
        window.owed, window.shown = [], None
        if panes != "discarding" and not window.records:
            window.new = 0  # all that was in it has been taken back
            return
        # without an end of its own, a pane is of the present: behind the watermark it would be late
        time = max(window.newest, present) if bounds[1] == END else bounds[1] - 1
        done = last or panes == "discarding"
        value = aggregate.closed(window.accumulator) if done else aggregate.finish(window.accumulator)
        pane = Fired(bounds, value, timing, window.index, last, time=time)
        fired.append(pane)
        window.new, window.index = 0, window.index + 1
        if panes == "retracting":
            window.shown = pane
        elif panes == "discarding":
            window.accumulator = aggregate.create()

    def _united(self, state: KeySpans, bounds: Bounds, watermark: int) -> Bounds:
        """The window that a new one becomes part of; those that it joins become one."""
        known = [*state.open, *(() if bounds in state.open else (bounds,))]
        for whole, parts in self._rules.windows.united(known):
            if bounds in parts:
                old = [part for part in parts if part in state.open]
                if old and (len(old) > 1 or old[0] != whole):
                    self._join(state, whole, old, watermark)
                return whole
        msg = f"merge() has left out the window {bounds}"
        raise ValueError(msg)

    def _join(self, state: KeySpans, whole: Bounds, parts: list[Bounds], watermark: int) -> None:
        combine = self._rules.aggregate.combine
        assert combine is not None  # the builder refuses the others
        windows = [(part, state.open.pop(part)) for part in sorted(parts)]
        _, first = windows[0]
        united = OpenWindow(first.accumulator, None)
        united.passed = watermark >= whole[1]
        united.trigger = trigger_steps.merged(
            self._trigger, [window.trigger for _, window in windows], united.passed
        )
        for part, window in windows:
            if window is not first:
                united.accumulator = combine(united.accumulator, window.accumulator)
            united.records += window.records
            united.new += window.new
            united.index = max(united.index, window.index)
            united.newest = max(united.newest, window.newest)
            united.owed += window.owed
            if part == whole:
                united.shown = window.shown
            elif window.shown is not None:
                united.owed.append(window.shown._replace(retracts=True))
        state.open[whole] = united
        self._wait(state, whole, united)
