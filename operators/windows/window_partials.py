"""The first of two stages of an aggregate in windows: accumulators of what one task has seen, never state.

All records of a slice are in the same windows, so an accumulator of a key and a slice can take their place.
It is handed on before a watermark leaves that closes the slice; before that no window with the slice in it
can speak, so it comes in time wherever the record would have. What comes behind that passes as it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeAlias

from heronpy.operators.failing import Failing
from heronpy.operators.flowing import Flowing, Out
from heronpy.operators.per_key import States, checked_key
from heronpy.operators.stamped import Stamped
from heronpy.operators.windows.window_panes import WindowPartial
from heronpy.pipeline.graph import WindowOp
from heronpy.pipeline.times import BEGINNING, END
from heronpy.pipeline.triggers import AtWatermark
from heronpy.pipeline.windows import AlignedWindows, Bounds, EverythingWindow, Windows

#: accumulators that are held at most
MOST = 100_000
#: microseconds after which they are handed on where a trigger may speak before the end of a window, and where
#: windows take late records: other tasks may be ahead of this one, and a pane behind them is due
LINGER, LATE_LINGER = 100_000, 1_000_000
#: over how many records it is judged whether holding pays, and what share may leave if it does
JUDGED, PAYS = 10_000, 0.8
#: when that is judged again: after so many records, or so many microseconds
AGAIN, LATER = 1_000_000, 60_000_000

#: an accumulator, how many records are in it, the newest of them
Held: TypeAlias = list[Any]


class WindowPartials:
    """Holds accumulators by slice and key, or passes records on where that saves nothing."""

    def __init__(self, op: WindowOp, out: Out, failing: Failing) -> None:
        self._aggregate, self._keyed = op.aggregate, op.keyed
        self._out, self._failing = out, failing
        self._span = span_of(op.windows)
        #: whether records of the same time are in the same windows
        self._by_time = isinstance(op.windows, AlignedWindows | EverythingWindow)
        early = op.trigger != AtWatermark(late=getattr(op.trigger, "late", None))
        #: how long an accumulator is held at most, in processing time; None: until its slice has ended
        self._linger = LINGER if early else LATE_LINGER if op.lateness else None
        #: nothing that a checkpoint must have
        self.states: States = {}
        self._slices: dict[Bounds, dict[Hashable, Held]] = {}
        self._held = 0
        self._watermark, self._now = BEGINNING, 0
        #: processing time of the oldest that is held
        self._since = 0
        #: records that came and rows that left since it was last judged whether holding pays
        self._came = self._left = 0
        self._passing = False
        self._passing_since = 0

    def take(self, slot: int, rows: Sequence[Any]) -> None:  # noqa: ARG002 - has one side
        self._came += len(rows)
        if self._passing:
            self._out(rows)
        else:
            self._hold_or_pass(rows)
        if self._came >= (AGAIN if self._passing else JUDGED):
            self._judge()

    def advance(self, watermark: int) -> None:
        """A watermark is about to leave: what it closes goes before it."""
        self._watermark = watermark
        self._hand_on([span for span in self._slices if span[1] <= watermark])

    def clock(self, now: int) -> None:
        self._now = now
        if (due := self.due) is not None and due <= now:
            self.end()
        if self._passing and now - self._passing_since >= LATER:
            self._judge()

    @property
    def due(self) -> int | None:
        """The processing time at which something is handed on."""
        return self._since + self._linger if self._linger is not None and self._held else None

    def end(self) -> None:
        """All that is held is handed on."""
        self._hand_on(list(self._slices))

    def _hold_or_pass(self, rows: Sequence[Any]) -> None:
        if not self._held:
            self._since = self._now
        pairs = rows if self._keyed else [(None, row) for row in rows]
        if passed := self._hold(pairs):
            self._left += len(passed)
            self._out(passed if self._keyed else [stamped for _, stamped in passed])
        if self._held >= MOST:
            self.end()

    def _hold(self, pairs: Iterable[tuple[Hashable, Stamped]]) -> list[tuple[Hashable, Stamped]]:
        """Takes what it can; gives back the others, whose slices have ended."""
        create, add, by_time = self._aggregate.create, self._aggregate.add, self._by_time
        passed = []
        held: dict[Hashable, Held] | None = None
        begin = end = 0  # of the slice of the last record, which is often that of the next one, too
        for key, stamped in pairs:
            time, value = stamped[0], stamped[1]
            if not (by_time and begin <= time < end):
                begin, end = span = self._span(value, time)
                held = None if end <= self._watermark else self._slices.setdefault(span, {})
            if held is None:
                passed.append((key, stamped))
                continue
            entry = held.get(key)
            if entry is None:
                checked_key(key, self._failing)
            try:
                if entry is None:
                    held[key] = [add(create(), value), 1, time]
                    self._held += 1
                else:
                    entry[0] = add(entry[0], value)
                    entry[1] += 1
                    if time > entry[2]:
                        entry[2] = time
            except Exception as error:
                raise self._failing.on(error, value) from error
        return passed

    def _hand_on(self, spans: list[Bounds]) -> None:
        flowing = Flowing(self._out)
        for span in sorted(spans):
            held = self._slices.pop(span)
            self._held -= len(held)
            self._left += len(held)
            flowing.add(self._rows(span, held))
        flowing.flush()

    def _rows(self, span: Bounds, held: dict[Hashable, Held]) -> list[Any]:
        made = []
        for key, (accumulator, records, newest) in held.items():
            # a result of all time has the time of the newest record; of a slice, any time in it will do
            time = newest if span[1] == END else span[1] - 1
            stamped = Stamped(time, WindowPartial(accumulator, records, span))
            made.append((key, stamped) if self._keyed else stamped)
        return made

    def _judge(self) -> None:
        """Whether so few rows leave that holding pays; where nothing is held, that has to be tried."""
        pays = self._passing or self._left + self._held <= PAYS * self._came
        if not pays:
            self.end()
        self._passing, self._passing_since = not pays, self._now
        self._came, self._left = 0, -self._held


def span_of(windows: Windows) -> Callable[[Any, int], Bounds]:
    """The part of the windows that a record is in: all that are in it are in the same windows."""
    if isinstance(windows, EverythingWindow):
        return lambda value, time: (BEGINNING, END)  # noqa: ARG005 - all are in it
    if not isinstance(windows, AlignedWindows):
        return lambda value, time: windows.bounds(value, time)[0]
    length, offset = math.gcd(windows.size, windows.every), windows.offset

    def slice_of(value: Any, time: int) -> Bounds:  # noqa: ARG001 - by time alone
        begin = time - (time - offset) % length
        return begin, begin + length

    return slice_of
