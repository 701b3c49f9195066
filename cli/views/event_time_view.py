"""Event time in a TopologyStatus as a table: how far each component has come, and what keeps it back."""

from __future__ import annotations

import datetime

from heronpy.cli.views.output import elapsed, table
from heronpy.kernel.status import ComponentTime, TopologyStatus
from heronpy.stages.pipeline_keys import LATE_DROPPED

HEADERS = ("component", "low watermark", "lag", "held by", "late")
#: seconds behind the time of day from which on the date is shown, too
_SAME_DAY = 86400.0


def event_time_table(status: TopologyStatus) -> str:
    """Empty where no watermarks are sent."""
    if not status.event_time:
        return ""
    late = _late(status)
    rows = [
        (
            one.component,
            _shown(one),
            "-" if one.lag is None else _lag(one.lag),
            one.held_by or "-",
            f"{late[one.component]:,} dropped" if late.get(one.component) else "-",
        )
        for one in status.event_time
    ]
    return table(HEADERS, rows)


def _shown(one: ComponentTime) -> str:
    if one.ended:
        return "end"
    if one.low_watermark is None or one.lag is None:
        return "unknown"
    try:
        at = datetime.datetime.fromtimestamp(one.low_watermark)
    except (OverflowError, OSError, ValueError):
        return f"{one.low_watermark:.0f} s"
    return f"{at:%H:%M:%S}" if abs(one.lag) < _SAME_DAY else f"{at:%Y-%m-%d %H:%M:%S}"


def _lag(seconds: float) -> str:
    return elapsed(seconds) if seconds >= 0 else f"-{elapsed(-seconds)}"


def _late(status: TopologyStatus) -> dict[str, int]:
    """Component → records that its steps have dropped because they came late."""
    found: dict[str, int] = {}
    for instance in status.instances:
        for metric, value in instance.custom.items():
            if metric.partition("/")[0] == LATE_DROPPED:
                found[instance.component] = found.get(instance.component, 0) + int(value)
    return found
