"""The step that gives records their event time, and follows the watermark of each split."""

from __future__ import annotations

import copy
import numbers
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from heronpy.kernel.flow.watermarks import LowWatermark
from heronpy.operators.failing import Failing
from heronpy.operators.flowing import Out
from heronpy.operators.stamped import Stamped
from heronpy.pipeline.graph import EventTimeOp
from heronpy.pipeline.times import END, to_micros, within_datetimes
from heronpy.pipeline.watermarks import OfArrival

_UNITS = {"s": 1_000_000, "ms": 1000, "us": 1}
#: how much a look at a quiet split counts at most: while it was not looked at, it may have had something
_LONGEST_LOOK = 1_000_000
_MINUTE = 60_000_000


class SplitTime:
    """How far one split has come."""

    def __init__(self, op: EventTimeOp) -> None:
        self.strategy = copy.deepcopy(op.watermarks)
        #: what the source said last
        self.said: int | None = None
        self.caught_up = False
        self.ended = False
        #: the largest time, of the last records
        self.newest: int | None = None
        #: microseconds for which it was looked at and had nothing, and when that was last
        self.quiet = 0
        self.looked: int | None = None

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
        if self.said is not None:
            found = max(found, self.said)
        if self.idle(op) and self.live(op, now):
            found = max(found, now - self.strategy.lag - (op.idle or 0))
        return found


class EventTiming:
    """Stamps records, and tells those behind it how far the splits have come."""

    def __init__(self, op: EventTimeOp, out: Out, failing: Failing, say: Callable[[int, bool], None]) -> None:
        self._op, self._out, self._failing, self._say = op, out, failing, say
        self._arrival = isinstance(op.watermarks, OfArrival)
        self._now = 0
        self._split = ""
        self.read({""})

    def read(self, splits: Iterable[str]) -> None:
        """The splits whose records come here: each is waited for."""
        self._splits = {split: SplitTime(self._op) for split in splits}
        self._low = LowWatermark(self._splits)

    def arrives(self, split: str, said: int | None, caught_up: bool) -> None:
        """What comes next is of this split, of which its source says so much."""
        self._split = split
        time = self._splits[split]
        time.caught_up = caught_up
        time.look(self._now, nothing=False)
        if said is not None:
            time.said = said

    def take(self, slot: int, rows: Sequence[Any]) -> None:  # noqa: ARG002 - has one side
        split = self._splits[self._split]
        times = [self._now] * len(rows) if self._arrival else self._times(rows)
        split.strategy.on_records(times)
        split.newest = max(times, default=split.newest)
        self._out([Stamped(time, row) for time, row in zip(times, rows, strict=True)])
        self.settle(self._split)

    def settle(self, split: str) -> None:
        """Say how far a split has come."""
        time = self._splits[split]
        idle = time.idle(self._op) and not time.live(self._op, self._now) and not time.ended
        if self._low.say(split, time.watermark(self._op, self._now), idle=idle):
            self._say(self._low.value, self._low.idle)

    def clock(self, now: int) -> None:
        self._now = max(self._now, now)  # a clock that is set back makes nothing late
        for split in self._splits:
            self.settle(split)

    def nothing(self) -> None:
        """All splits were asked, and had nothing now."""
        for time in self._splits.values():
            time.caught_up = True
            time.look(self._now, nothing=True)

    def over(self, split: str) -> None:
        """A split has ended."""
        self._splits[split].ended = True
        self.settle(split)

    def end(self) -> None:
        for split in self._splits:
            self.over(split)

    def _times(self, rows: Sequence[Any]) -> list[int]:
        by, failing = self._op.by, self._failing
        source = iter(rows)
        try:
            return [within_datetimes(self._micros(by(row))) for row in source]
        except Exception as error:
            raise failing.within(error, rows, source) from error

    def _micros(self, time: Any) -> int:
        if isinstance(time, datetime):
            if time.tzinfo is None:
                msg = f"{time} has no time zone: use an aware datetime, as datetime.now(UTC) is"
                raise ValueError(msg)
            return to_micros(time)
        if self._op.unit is None:
            msg = f"{time!r} has no unit: event_time(…, unit='ms'), or an aware datetime"
            raise ValueError(msg)
        if not _is_number(time):
            msg = f"{time!r} is no number: with unit={self._op.unit!r} times are numbers"
            raise TypeError(msg)
        found: int = round(time * _UNITS[self._op.unit])
        return found


def _is_number(time: object) -> bool:
    return isinstance(time, int | float | Decimal | numbers.Real)
