"""The user's function with a state and timers for each key, in event time and by the wall clock."""

from __future__ import annotations

import functools
import heapq
import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from heronpy.operators.failing import Failing
from heronpy.operators.flowing import KEYS_AT_ONCE, Out, at_once
from heronpy.operators.kept import Kept
from heronpy.operators.per_key import States, checked_key
from heronpy.operators.stamped import Stamped
from heronpy.pipeline.graph import ProcessOp, Step
from heronpy.pipeline.records import Context, Timer
from heronpy.pipeline.times import BEGINNING, END, to_datetime

#: tag → time, and number in the order of setting; None is the tag of `ttl`
Waiting: TypeAlias = dict[str | None, tuple[int, int]]
#: time and number, a number that no other entry has, key, tag: timers that two tasks have set may be alike
Entry: TypeAlias = tuple[int, int, int, Hashable, str | None]


class KeyCell(Kept):
    """What is kept of a key: the user's state, and what it waits for. Indexes over it can be made again."""

    __slots__ = ("alarms", "state", "timers", "touched")

    def __init__(self, state: Any) -> None:
        self.state = state
        self.timers: Waiting = {}
        self.alarms: Waiting = {}
        #: event time of the newest record; of a key that begins anew at a timer, that of the timer
        self.touched = BEGINNING


def keeps_cells(step: Step) -> bool:
    """Whether the step keeps cells; else it keeps the user's states as they are."""
    return isinstance(step.op, ProcessOp) and (step.timed or step.op.on_timer is not None)


class TimedProcessing:
    """Calls the function for records, and `on_timer` in the order of time."""

    def __init__(
        self,
        op: ProcessOp,
        out: Out,
        sides: Mapping[str, Out],
        failing: Failing,
        states: States,
        *,
        timed: bool,
    ) -> None:
        self._op, self._out, self._sides, self._failing, self.states = op, out, sides, failing, states
        self._timed = timed
        self._watermark, self._now, self._time = BEGINNING, 0, BEGINNING
        #: the watermark of a key, where those of the task's keys differ: never below the one of all
        self.of_key: Callable[[Hashable], int] | None = None
        #: event time of the newest record of all keys
        self._newest = BEGINNING
        self._timers: list[Entry] = []
        self._alarms: list[Entry] = []
        self._number, self._entries = 0, itertools.count()
        self._aside: dict[str, list[Any]] = {name: [] for name in sides}
        self._context: Context[Any] = Context(self._side, self._forget, self)

    def take(self, slot: int, rows: Sequence[Any]) -> None:  # noqa: ARG002 - has one side
        for key, row in rows:
            self._time, value = (row.time, row.value) if self._timed else (self._watermark_of(key), row)
            self._newest = max(self._newest, self._time)
            cell = self.states.get(key)
            if cell is None:
                cell = self._begin(key, row)
            self._call(key, row, functools.partial(self._op.fn, cell.state, value, self._context))
            if (cell := self.states.get(key)) is not None:
                cell.touched = max(cell.touched, self._time)
                if self._op.ttl is not None and None not in cell.timers:
                    self._set(self._timers, cell.timers, cell.touched + self._op.ttl, key, None)
            if self.of_key is not None:
                self._fire_ahead(key, self.of_key(key))
            elif self._timers and self._timers[0][0] <= self._watermark:  # set for a time that has come
                at_once(self._firing(self._timers, self._watermark))

    def reload(self) -> None:
        """Keys have come or gone with their cells: what waits for what is found anew."""
        self._timers, self._alarms = [], []
        for key, cell in self.states.items():
            self._newest = max(self._newest, cell.touched)
            for index, own in ((self._timers, cell.timers), (self._alarms, cell.alarms)):
                for tag, (time, number) in own.items():
                    self._number = max(self._number, number)
                    index.append((time, number, next(self._entries), key, tag))
        heapq.heapify(self._timers)
        heapq.heapify(self._alarms)

    @property
    def due(self) -> int | None:
        """The processing time for which the step waits."""
        return self._alarms[0][0] if self._alarms else None

    def advance(self, watermark: int) -> None:
        """All keys have come so far: timers fire in the order of time."""
        at_once(self.advancing(watermark))

    def advancing(self, watermark: int) -> Iterator[None]:
        """The same, with pauses in which the step is not to be called otherwise."""
        yield from self._firing(self._timers, watermark)
        self._watermark = watermark

    def tell(self, now: int) -> None:
        """It is so late; alarms wait for `clocking`."""
        self._now = now

    def clock(self, now: int) -> None:
        """It is so late: alarms fire."""
        at_once(self.clocking(now))

    def clocking(self, now: int) -> Iterator[None]:
        """The same, with pauses in which the step is not to be called otherwise."""
        self.tell(now)
        yield from self._firing(self._alarms, now)

    def end(self) -> None:
        """The watermark is at the end of time; alarms that have not come are not waited for."""
        self.states.clear()

    def times(self) -> tuple[int, int]:
        return self._time, self._watermark_of(self._context.key)

    def _watermark_of(self, key: Hashable) -> int:
        if self.of_key is None:
            return self._watermark
        return max(self._watermark, self.of_key(key))

    def set_timer(self, at: int, tag: str) -> None:
        if not self._timed:
            msg = "the stream has no event time, so this timer never fires: use context.alarm, or event_time"
            raise TypeError(msg)
        self._set(self._timers, self._cell().timers, at, self._context.key, tag)

    def set_alarm(self, after: int, tag: str) -> None:
        self._set(self._alarms, self._cell().alarms, self._now + after, self._context.key, tag)

    def cancel(self, tag: str) -> None:
        cell = self._cell()
        cell.timers.pop(tag, None)
        cell.alarms.pop(tag, None)

    def _cell(self) -> KeyCell:
        if self._op.on_timer is None:
            msg = "a timer needs process(…, on_timer=fn)"
            raise TypeError(msg)
        cell: KeyCell | None = self.states.get(self._context.key)
        if cell is None:  # the function has called `clear`, and begins anew
            cell = self.states[self._context.key] = KeyCell(self._op.state())
            cell.touched = self._time
        return cell

    def _set(self, index: list[Entry], own: Waiting, time: int, key: Hashable, tag: str | None) -> None:
        self._number += 1
        own[tag] = time, self._number
        heapq.heappush(index, (time, self._number, next(self._entries), key, tag))

    def _firing(self, index: list[Entry], until: int) -> Iterator[None]:
        """What is due, and what is set meanwhile for a time that has come; entries that no cell confirms are
        of timers that were moved, cancelled or forgotten."""
        before, again, fired = self._number, set[tuple[Hashable, str]](), 0
        while index and index[0][0] <= until:
            fired += 1
            if fired % KEYS_AT_ONCE == 0:
                yield
            time, number, _, key, tag = heapq.heappop(index)
            cell = self.states.get(key)
            own = None if cell is None else cell.timers if index is self._timers else cell.alarms
            if cell is None or own is None or own.get(tag) != (time, number):
                continue
            del own[tag]
            if tag is None:
                self._expire(key, cell, time)
                continue
            if until == END and number > before and time > self._newest:
                if (key, tag) in again:
                    continue  # a timer that always sets itself again would have no end
                again.add((key, tag))
            if index is self._timers:
                self._watermark = max(self._watermark, time)
                self._on_timer(key, cell, time, time, tag)
            else:
                # before any watermark the alarm has the time of what the key has, which is behind none
                watermark = self._watermark_of(key)
                self._on_timer(key, cell, cell.touched if watermark == BEGINNING else watermark, time, tag)

    def _fire_ahead(self, key: Hashable, until: int) -> None:
        """What a key has set for a time that has come for it, and not yet for all keys."""
        while until < END and (cell := self.states.get(key)) is not None:
            waiting = ((*at, tag) for tag, at in cell.timers.items() if at[0] <= until)
            time, number, tag = min(waiting, key=lambda timer: timer[:2], default=(0, 0, None))
            if not number:
                return
            del cell.timers[tag]
            if tag is None:
                self._expire(key, cell, time)
            else:
                self._on_timer(key, cell, time, time, tag)

    def _on_timer(self, key: Hashable, cell: KeyCell, event_time: int, at: int, tag: str) -> None:
        assert self._op.on_timer is not None
        self._time, timer = event_time, Timer(to_datetime(at), tag)
        about = Stamped(event_time, timer) if self._timed else timer
        self._call(key, about, functools.partial(self._op.on_timer, cell.state, timer, self._context))

    def _expire(self, key: Hashable, cell: KeyCell, time: int) -> None:
        """A key that had records since its timer was set waits again, from the newest."""
        assert self._op.ttl is not None
        due = cell.touched + self._op.ttl
        if due <= time:
            del self.states[key]
        else:
            self._set(self._timers, cell.timers, due, key, None)

    def _begin(self, key: Hashable, row: object) -> KeyCell:
        checked_key(key, self._failing)
        try:
            cell = self.states[key] = KeyCell(self._op.state())
        except Exception as error:
            raise self._failing.on(error, row) from error
        return cell

    def _call(self, key: Hashable, about: object, function: Callable[[], Iterable[Any] | None]) -> None:
        """What the function makes, with the time of its record or timer."""
        self._context.key = key
        try:
            made = function()
            if made is None:
                msg = "the function returned None: return a list, or yield each result"
                raise TypeError(msg)
            results = list(made)
        except Exception as error:
            for values in self._aside.values():
                values.clear()
            if not self._failing.tolerant:
                raise self._failing.on(error, about) from error
            self._failing.leave(error, about)
            return
        if results:
            self._out(self._stamped(results))
        for name, values in self._aside.items():
            if values:
                self._aside[name] = []
                self._sides[name](self._stamped(values))

    def _stamped(self, values: list[Any]) -> list[Any]:
        return [Stamped(self._time, value) for value in values] if self._timed else values

    def _side(self, name: str, value: object) -> None:
        if (values := self._aside.get(name)) is not None:
            values.append(value)

    def _forget(self) -> None:
        self.states.pop(self._context.key, None)
