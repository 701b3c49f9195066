"""The step that gives records their event time, and follows the watermark of each split."""

from __future__ import annotations

import copy
import functools
import itertools
import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from heronpy.kernel.config.units import format_duration
from heronpy.kernel.flow.watermarks import LowWatermark
from heronpy.operators.alike import alike
from heronpy.operators.failing import Failing
from heronpy.operators.flowing import Out
from heronpy.operators.stamped import Stamped
from heronpy.pipeline.graph import EventTimeOp
from heronpy.pipeline.times import (
    BEGINNING,
    END,
    are_datetimes,
    to_datetime,
    to_micros,
    within_datetimes,
)
from heronpy.pipeline.watermarks import OfArrival, Watermarks

#: a Stamped of its three values, without a call of Python code
_STAMPED = functools.partial(tuple.__new__, Stamped)
_UNITS = {"s": 1_000_000, "ms": 1000, "us": 1}
#: how much a look at a quiet split counts at most: while it was not looked at, it may have had something
_LONGEST_LOOK = 1_000_000
_MINUTE = 60_000_000
#: microseconds between two looks of a runner at what goes by the clock alone: each is at all splits
LOOK: Final = 10_000
#: the one split of a task behind an exchange, where those of the source are not known: all that it gets
ALL: Final = ""
#: how often time follows the clock
_TICK = 100_000
#: what is silent for less is worth no word
_SILENT = 1_000_000
#: what to do about a silent split
_TRY_IDLE = " (try idle='30s')"


class SplitTime:
    """How far one split has come; behind an exchange, what one task gets."""

    #: the largest time of all records
    largest: int | None = None
    #: a strategy that has seen only what came since the task shares its records with others than before
    since: Watermarks | None = None

    def __init__(self, op: EventTimeOp) -> None:
        self.strategy = copy.deepcopy(op.watermarks)
        #: the strategy as it was before it saw anything: what another one has saved does not fit
        self._pristine = op.watermarks
        #: how far it has come, which is never taken back
        self.reached = BEGINNING
        #: how much older than the newest a record may be, by what the strategy has found out itself
        self.lag = self.strategy.lag
        #: what the source said last
        self.said: int | None = None
        self.caught_up = False
        self.ended = False
        #: the largest time, of the last records
        self.newest: int | None = None
        #: microseconds for which it was looked at and had nothing, and when that was last
        self.quiet = 0
        self.looked: int | None = None

    def goes_on(self, op: EventTimeOp) -> SplitTime:
        """The same behind a restart, which nothing is known about; the step may have another strategy."""
        again = copy.deepcopy(self)
        if not alike(again._pristine, op.watermarks):
            again.strategy = copy.deepcopy(op.watermarks)
        again._pristine = op.watermarks
        again.caught_up, again.ended, again.quiet, again.looked = False, False, 0, None
        return again

    def share_anew(self, op: EventTimeOp) -> None:
        """The task gets other records from now on: it was only as far as those of its old share.

        Until it has seen one as late as any of those, the new share may be behind them: it must say by itself
        how far it has come.
        """
        self.reached, self.quiet, self.looked = BEGINNING, 0, None
        if self.largest is not None:
            self.since = copy.deepcopy(op.watermarks)

    def on_records(self, times: Sequence[int]) -> None:
        """Records with these event times have come."""
        if not times:
            return
        self.strategy.on_records(times)
        self.newest, self.quiet = max(times), 0
        if self.since is not None:
            self.since.on_records(times)
        if self.largest is None or self.newest >= self.largest:
            self.largest, self.since = self.newest, None

    def look(self, now: int, nothing: bool) -> None:
        """Whether there was something when the split was polled."""
        if nothing and self.caught_up and self.looked is not None:
            self.quiet += min(now - self.looked, _LONGEST_LOOK)
        elif not nothing:
            self.quiet = 0
        self.looked = now

    def idle(self, op: EventTimeOp) -> bool:
        return op.idle is not None and self.quiet >= op.idle

    def live(self, op: EventTimeOp, now: int) -> bool:
        """Whether its last record was of the present, so that its time can follow the clock."""
        behind = (op.idle or 0) + self.strategy.lag + _MINUTE
        return self.newest is not None and now - self.newest < behind + self.quiet

    def watermark(self, op: EventTimeOp, now: int) -> int:
        if self.ended:
            return END
        found = self.strategy.current(now, self.caught_up)
        if self.since is not None:
            found = min(found, self.since.current(now, self.caught_up))
        if self.said is not None:
            found = max(found, self.said)
        self.lag = self.strategy.lag
        if self.largest is not None and found > BEGINNING:
            self.lag = max(self.lag, self.largest - found)
        if self.idle(op) and self.live(op, now):
            found = max(found, now - self.lag - (op.idle or 0))
        self.reached = max(self.reached, found)
        return self.reached


class EventTiming:
    """Stamps records, and tells those behind it how far the splits have come."""

    def __init__(self, op: EventTimeOp, out: Out, failing: Failing, say: Callable[[int, bool], None]) -> None:
        self._op, self._out, self._failing, self._say = op, out, failing, say
        self._arrival = isinstance(op.watermarks, OfArrival)
        #: whether splits may be too far ahead to be read
        self.limited = op.ahead is not None
        self._now = 0
        self._split = ALL
        #: microseconds for which the source has been asked, and when it was last
        self._asking = 0
        self._asked: int | None = None
        self._take_over([ALL], {})

    def read(self, splits: Iterable[str], saved: Mapping[str, SplitTime] | None = None) -> None:
        """The splits whose records come here: each is waited for, and goes on from where it was saved."""
        self._take_over(splits, saved or {})
        for split in self._splits:
            self.settle(split)
        if not self._splits:
            self._say(BEGINNING, True)

    def _take_over(self, splits: Iterable[str], saved: Mapping[str, SplitTime]) -> None:
        op = self._op
        self._splits = {
            split: saved[split].goes_on(op) if split in saved else SplitTime(op) for split in splits
        }
        #: those that have not ended: thousands may have, which need no look at the clock any more
        self._open = dict(self._splits)
        self._low = LowWatermark(self._splits)
        #: split → for how long the source had been asked when it gave something
        self._heard = dict.fromkeys(self._splits, self._asking)
        #: splits that are too far ahead to be read, each with a sentence
        self._waiting: dict[str, str] = {}

    def share_anew(self) -> None:
        """The task gets other records than before: how far those have come is to be found out."""
        for time in self._splits.values():
            time.share_anew(self._op)
        self._low = LowWatermark(self._splits)
        for split in self._splits:
            self.settle(split)

    def time_of(self, split: str) -> SplitTime:
        """What is known of a split, as it is now."""
        return copy.deepcopy(self._splits[split])

    def arrives(self, split: str, said: int | None, caught_up: bool) -> None:
        """What comes next is of this split, of which its source says so much."""
        self._ask()
        self._split, self._heard[split] = split, self._asking
        time = self._splits[split]
        time.caught_up = caught_up
        time.look(self._now, nothing=False)
        if said is not None:
            time.said = said

    def take(self, slot: int, rows: Sequence[Any]) -> None:  # noqa: ARG002 - has one side
        split = self._splits[self._split]
        times = [self._now] * len(rows) if self._arrival else self._times(rows)
        if len(times) < len(rows) or self._in_future(times):
            rows, times = self._sound(rows)
        split.on_records(times)
        self._out(list(map(_STAMPED, zip(times, rows, itertools.repeat(False)))))
        self.settle(self._split)

    @property
    def due(self) -> int | None:
        """When time goes on though nothing comes."""
        return self._now + _TICK if self._arrival else None

    def held_by(self) -> str | None:
        """The split that is furthest behind, and for how long it has given nothing; None if it keeps coming.

        Whether it was asked in vain or others were before it, it is the one that is waited for.
        """
        waited_for = {split: time for split, time in self._open.items() if split in self._low.waited_for}
        if not waited_for:
            return None
        name, time = min(waited_for.items(), key=lambda split: split[1].reached)
        silent_for = self._asking - self._heard[name]
        if time.newest is not None and silent_for < _SILENT:
            return None
        seconds = silent_for // _SILENT
        silent = f"silent {format_duration(seconds)}" if seconds else "nothing yet"
        which = "" if name == ALL else f"split {name}: "
        return f"{which}{silent}{_TRY_IDLE if self._op.idle is None else ''}"

    def settle(self, split: str) -> None:
        """Say how far a split has come."""
        time = self._splits[split]
        idle = time.idle(self._op) and not time.live(self._op, self._now) and not time.ended
        if self._low.say(split, time.watermark(self._op, self._now), idle=idle):
            self._say(self._low.value, self._low.idle)

    def clock(self, now: int) -> None:
        self._now = max(self._now, now)  # a clock that is set back makes nothing late
        for split in self._open:
            self.settle(split)

    def nothing(self, splits: Iterable[str]) -> None:
        """These splits were asked, and had nothing now."""
        self._ask()
        for split in splits:
            time = self._splits[split]
            time.caught_up = True
            time.look(self._now, nothing=True)

    def _ask(self) -> None:
        """The source was asked: what it was not asked for is no silence of any split."""
        if self._asked is not None:
            self._asking += min(self._now - self._asked, _LONGEST_LOOK)
        self._asked = self._now

    def waiting(self) -> dict[str, str]:
        """The splits that are not to be read until slower ones have come after, each with a sentence.

        A split that waits goes on when it is less than half as far ahead as it may be: to stop reading a
        split and to begin again costs something. One that has given nothing yet holds back no other.
        """
        ahead = self._op.ahead
        if ahead is None:
            return self._waiting
        come = {
            name: time.watermark(self._op, self._now)
            for name, time in self._open.items()
            if time.newest is not None
        }
        slow = {name: at for name, at in come.items() if not self._splits[name].idle(self._op)} or come
        if not slow:
            self._waiting = {}
            return self._waiting
        slowest = min(slow, key=lambda name: slow[name])
        self._waiting = {
            name: f"split {name!r} is {format_duration((at - slow[slowest]) // 1_000_000)} ahead of"
            f" {slowest!r} and waits (ahead={format_duration(ahead / 1_000_000)!r})"
            for name, at in come.items()
            if at - slow[slowest] > (ahead // 2 if name in self._waiting else ahead)
        }
        return self._waiting

    def over(self, split: str) -> None:
        """A split has ended."""
        self._splits[split].ended = True
        self._open.pop(split, None)
        self.settle(split)

    def end(self) -> None:
        for split in list(self._open):
            self.over(split)

    def _times(self, rows: Sequence[Any]) -> list[int]:
        """The time of each; of fewer records, where one has none and that is no reason to fail."""
        by, failing = self._op.by, self._failing
        source = iter(rows)
        try:
            given = [by(row) for row in source]
            source = iter(given)
            return self._of_integers(given) or [within_datetimes(self._micros(time)) for time in source]
        except Exception as error:
            if failing.tolerant:
                return []
            raise failing.within(error, rows, source) from error

    def _of_integers(self, given: list[Any]) -> list[int]:
        """The times, if all are integers that can be times: then there is little to look at."""
        if self._op.unit is None or set(map(type, given)) != {int}:
            return []
        scale = _UNITS[self._op.unit]
        times = [time * scale for time in given]
        return times if are_datetimes(min(times), max(times)) else []

    def _in_future(self, times: Sequence[int]) -> bool:
        """Whether one of them is too far ahead of the clock, if there is one."""
        return (
            self._op.future is not None
            and bool(self._now and times)
            and max(times) > self._now + self._op.future
        )

    def _sound(self, rows: Sequence[Any]) -> tuple[list[Any], list[int]]:
        """The records that have a time that can be; the others are set aside, as of now."""
        kept, times = [], []
        for row in rows:
            try:
                time = within_datetimes(self._micros(self._op.by(row)))
                if self._in_future([time]):
                    raise ValueError(self._too_far(time))
            except Exception as error:
                self._failing.leave(error, Stamped(self._now, row))
            else:
                kept.append(row)
                times.append(time)
        return kept, times

    def _too_far(self, time: int) -> str:
        assert self._op.future is not None
        limit = format_duration(self._op.future / 1_000_000)
        return f"the time {to_datetime(time)} is more than {limit} ahead of the clock (future={limit!r})"

    def _micros(self, time: Any) -> int:
        if isinstance(time, datetime):
            if time.tzinfo is None:
                msg = f"{time} has no time zone: use an aware datetime, as datetime.now(UTC) is"
                raise ValueError(msg)
            return to_micros(time)
        if self._op.unit is None:
            msg = f"{time!r} has no unit: event_time(…, unit={_likely_unit(time)!r}), or an aware datetime"
            raise ValueError(msg)
        if not _is_number(time):
            msg = f"{time!r} is no number: with unit={self._op.unit!r} times are numbers"
            raise TypeError(msg)
        found: int = round(time * _UNITS[self._op.unit])
        return found


def _likely_unit(time: Any) -> str:
    """The unit in which a number is a time between 1970 and the far future; any for what is no number."""
    if not _is_number(time):
        return "ms"
    return "s" if abs(time) < 1e11 else "ms" if abs(time) < 1e14 else "us"


def _is_number(time: object) -> bool:
    return isinstance(time, int | float | Decimal | numbers.Real)
