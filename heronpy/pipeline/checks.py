"""What the words of a pipeline have in common when they refuse: a sentence and what to write instead."""

from __future__ import annotations

import datetime
from typing import TypeAlias

from heronpy.kernel.config.units import parse_duration
from heronpy.kernel.errors import UserError

#: "10s", seconds or a timedelta
Duration: TypeAlias = str | float | datetime.timedelta


def refuse_unless(sound: bool, message: str, *, hint: str) -> None:
    """A UserError that says what to write instead."""
    if not sound:
        raise UserError(message, hint=hint)


def checked_duration(word: str, given: Duration) -> float:
    """The seconds of a duration; refuses what is none, and no time at all."""
    seconds = _seconds(given)
    refuse_unless(seconds > 0, f"{word}={given!r} is not a duration", hint="'10s', seconds or a timedelta")
    return seconds


def checked_micros(word: str, given: Duration, *, least: int = 1) -> int:
    """The microseconds of a duration, which is how event time is counted; 0 where `least` allows it."""
    micros = round(_seconds(given) * 1_000_000)
    refuse_unless(
        micros >= least, f"{word}={given!r} is not a duration", hint="'10s', seconds or a timedelta"
    )
    return micros


def _seconds(given: Duration) -> float:
    try:
        return parse_duration(given.total_seconds() if isinstance(given, datetime.timedelta) else given)
    except (TypeError, ValueError):
        return -1.0
