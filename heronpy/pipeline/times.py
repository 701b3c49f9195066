"""Event time: aware datetimes outside, microseconds since the epoch inside."""

from __future__ import annotations

import functools
from datetime import UTC, datetime, timedelta
from typing import Final

#: before all time: the watermark of a split that has not said anything
BEGINNING: Final = -(2**63)
#: behind all time: the watermark of an input that has ended
END: Final = 2**63 - 1

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


def to_micros(time: datetime) -> int:
    """Exact; the first and the last datetime that there is are BEGINNING and END."""
    if time in (_FIRST, _LAST):
        return BEGINNING if time == _FIRST else END
    return (time - _EPOCH) // _MICROSECOND


_LEAST, _MOST = ((time - _EPOCH) // _MICROSECOND for time in (_FIRST, _LAST))


def are_datetimes(least: int, most: int) -> bool:
    """Whether these times, and all between, can be those of records."""
    return least > _LEAST and most < _MOST


def within_datetimes(micros: int) -> int:
    """The time of a record, which is behind the first and before the last datetime."""
    if _LEAST < micros < _MOST:
        return micros
    msg = f"the time {micros:,} µs is before the year 1 or behind 9999: give event_time the unit of its times"
    raise ValueError(msg)


@functools.lru_cache(maxsize=1024)
def to_datetime(micros: int) -> datetime:
    """In UTC; what no datetime can be is the first or the last of them."""
    try:
        return _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return _FIRST if micros < 0 else _LAST
