"""Times as a test writes them: "12:00:26" of one day, an aware datetime, or seconds of that day."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple, TypeAlias

from heronpy.kernel.errors import UserError
from heronpy.pipeline.times import to_micros

#: the day that times without a date are of
DAY: Final = datetime(2026, 1, 1, tzinfo=UTC)

Moment: TypeAlias = str | float | datetime


def moment(time: Moment) -> datetime:
    """
    >>> moment("12:00:26")
    datetime.datetime(2026, 1, 1, 12, 0, 26, tzinfo=datetime.timezone.utc)
    """
    if isinstance(time, datetime):
        if time.tzinfo is None:
            msg = f"{time} has no time zone"
            raise UserError(msg, hint="datetime(…, tzinfo=UTC), or '12:00:26'")
        return time
    if isinstance(time, str):
        return DAY + _of_clock(time)
    return DAY + timedelta(seconds=time)


def micros(time: Moment) -> int:
    return to_micros(moment(time))


def _of_clock(time: str) -> timedelta:
    parts = time.split(":")
    try:
        hours, minutes, seconds = (int(parts[0]), int(parts[1]), float(parts[2]) if parts[2:] else 0.0)
    except (IndexError, ValueError):
        msg = f"{time!r} is no time of day"
        raise UserError(msg, hint="'12:00' or '12:00:26.5'") from None
    return timedelta(hours=hours, minutes=minutes, seconds=seconds)


class FedRecord(NamedTuple):
    """A record with the event time that a test gives it."""

    time: int
    value: Any


def at(time: Moment, value: Any) -> FedRecord:
    """A record for `PipelineTest.feed`, with its event time."""
    return FedRecord(micros(time), value)
