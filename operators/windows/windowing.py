"""The step around a core: a state for each key, what is due when, results with window and pane."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any

from heronpy.operators.at_the_end import pairs
from heronpy.operators.failing import Failing
from heronpy.operators.flowing import KEYS_AT_ONCE, Flowing, Out, at_once
from heronpy.operators.per_key import States, checked_key
from heronpy.operators.stamped import Stamped
from heronpy.operators.windows.calendar_of_keys import KeyCalendar
from heronpy.operators.windows.late_count import LateCount
from heronpy.operators.windows.slices import SliceCore, slides
from heronpy.operators.windows.spans import SpanCore
from heronpy.operators.windows.window_panes import (
    IN_TIME,
    NEVER,
    Core,
    Element,
    Fired,
    WindowPartial,
    WindowRules,
    records_in,
)
from heronpy.pipeline.graph import WindowOp
from heronpy.pipeline.records import Pane, Result
from heronpy.pipeline.times import BEGINNING, END
from heronpy.pipeline.windows import window_of


def rules_of(op: WindowOp) -> WindowRules:
    """What a core needs to know of a step."""
    return WindowRules(op.windows, op.trigger, op.panes, op.lateness, op.aggregate)


def core_of(rules: WindowRules, *, retractions: bool = False) -> Core:
    """Slices where they can carry the windows."""
    return SliceCore(rules) if slides(rules) and not retractions else SpanCore(rules)


class Windowing:
    """Records of a key into its windows, and their panes out as results."""

    def __init__(
        self,
        op: WindowOp,
        core: Core,
        out: Out,
        late: Out | None,
        failing: Failing,
        states: States,
    ) -> None:
        self._op, self._core = op, core
        self._out, self._late_out, self._failing, self.states = out, late, failing, states
        self._calendar, self._alarms = KeyCalendar(), KeyCalendar()
        self.watermark = BEGINNING
        #: the watermark of a key, where those of the task's keys differ: never below the one of all
        self.of_key: Callable[[Hashable], int] | None = None
        #: processing time, in microseconds, as far as it is known here
        self.now = 0
        self.late = LateCount()

    def take(self, slot: int, rows: Sequence[Any]) -> None:
        results, late = Flowing(self._out), []
        sides, of_key, watermark = self._op.sides, self.of_key, self.watermark
        for key, stamped in rows if self._op.keyed else ((None, row) for row in rows):
            value = (slot, stamped.value) if sides else stamped.value
            state = self._state_of(key)
            wake, alarm, fired = state.wake, state.alarm, list[Fired]()
            if of_key is not None:
                watermark = of_key(key)
            element = Element(stamped.time, value, watermark, self.now, stamped.retracts)
            try:
                behind = self._core.element(state, element, fired)
            except Exception as error:
                if type(value) is WindowPartial:
                    raise self._failing.for_key(error, key) from error
                raise self._failing.on(error, stamped.value) from error
            if behind != IN_TIME:
                late.append((stamped, behind))
            if fired:
                results.add(self._results(key, fired))
            self._settle(key, state, wake, alarm)
        results.flush()
        if late:
            self._set_aside(late)

    def reload(self) -> None:
        """Keys have come or gone with their states: what waits for what is found anew."""
        self._calendar, self._alarms = KeyCalendar(), KeyCalendar()
        for key, state in self.states.items():
            self._settle(key, state, NEVER, NEVER)

    @property
    def due(self) -> int | None:
        """The processing time for which the step waits."""
        return self._alarms.first

    def advance(self, watermark: int) -> None:
        """All keys have come so far: windows speak in the order of time. Keys that are ahead have done so."""
        at_once(self.advancing(watermark))

    def advancing(self, watermark: int) -> Iterator[None]:
        """The same, with pauses in which the step is not to be called otherwise."""
        results = Flowing(self._out)
        for number, (time, key) in enumerate(self._due(watermark), 1):
            self._wake(key, time, results)
            if number % KEYS_AT_ONCE == 0:
                results.flush()
                yield
        self.watermark = watermark
        results.flush()

    def _due(self, watermark: int) -> Iterator[tuple[int, Hashable]]:
        yield from self._calendar.due(watermark)
        if watermark == END:
            yield from [(END, key) for key in self.states]

    def tell(self, now: int) -> None:
        """It is so late; triggers that go by processing time wait for `clocking`."""
        self.now = now

    def clock(self, now: int) -> None:
        """It is so late: triggers that go by processing time speak."""
        at_once(self.clocking(now))

    def clocking(self, now: int) -> Iterator[None]:
        """The same, with pauses in which the step is not to be called otherwise."""
        self.tell(now)
        results = Flowing(self._out)
        for number, (time, key) in enumerate(self._alarms.due(now), 1):
            self._ring(key, time, results)
            if number % KEYS_AT_ONCE == 0:
                results.flush()
                yield
        results.flush()

    def end(self) -> None:
        """The watermark is at the end of time, so nothing is left."""

    def _watermark_of(self, key: Hashable) -> int:
        return self.watermark if self.of_key is None else self.of_key(key)

    def _state_of(self, key: Hashable) -> Any:
        state = self.states.get(key)
        if state is None:
            checked_key(key, self._failing)
            state = self.states[key] = self._core.create()
        return state

    def _wake(self, key: Hashable, time: int, results: Flowing) -> None:
        state = self.states.get(key)
        if state is None or (state.wake > time and time != END):
            return
        fired: list[Fired] = []
        alarm = state.alarm
        try:
            self._core.advance(state, time, self.now, fired, self._watermark_of(key))
        except Exception as error:
            raise self._failing.for_key(error, key) from error
        results.add(self._results(key, fired))
        self._settle(key, state, NEVER, alarm)

    def _ring(self, key: Hashable, time: int, results: Flowing) -> None:
        state = self.states.get(key)
        if state is None:
            return
        fired: list[Fired] = []
        wake = state.wake
        if state.alarm <= time:
            try:
                self._core.clock(state, self._watermark_of(key), self.now, fired)
            except Exception as error:
                raise self._failing.for_key(error, key) from error
            results.add(self._results(key, fired))
        self._settle(key, state, wake, NEVER)  # an alarm that was put off is entered again

    def _settle(self, key: Hashable, state: Any, wake: int, alarm: int) -> None:
        """Enter what the state waits for, if that is new; forget a key without windows."""
        if self._core.empty(state):
            self.states.pop(key, None)
            return
        if state.wake < wake:
            self._calendar.add(state.wake, key)
        if state.alarm < alarm:
            self._alarms.add(state.alarm, key)

    def _results(self, key: Hashable, fired: Iterable[Fired]) -> list[Stamped]:
        made = []
        for pane in fired:
            window, which = window_of(pane.bounds), Pane(pane.number, pane.timing, pane.last)
            for value in self._values(pane):
                result = Result(key, value, window, which, pane.retracts)
                made.append(Stamped(pane.time, result, pane.retracts))
        return made

    def _values(self, pane: Fired) -> Iterable[Any]:
        if self._op.how is None:
            return (pane.value,)
        left, right = pane.value
        return pairs(left, right, self._op.how)

    def _set_aside(self, late: list[tuple[Stamped, int]]) -> None:
        if self._late_out is not None:
            self._late_out([stamped for stamped, _ in late])
            return
        for stamped, behind in late:
            self.late.add(behind, records_in(stamped.value))
