"""A record with its event time, as it goes from step to step."""

from __future__ import annotations

from typing import Any, NamedTuple


class Stamped(NamedTuple):
    """What the rows of a stream with event time are."""

    #: microseconds since the epoch
    time: int
    value: Any
    #: takes back a record that came before
    retracts: bool = False
