"""How often a topology is saved."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from heronpy.kernel.errors import TopologyError
from heronpy.kernel.plans import LogicalPlan

#: Apache Heron's key in a topology's config
KEY: Final = "topology.stateful.checkpoint.interval.seconds"

#: seconds; with a shorter interval a topology would do little else than save
LEAST: Final = 0.1


def checkpoint_interval(plan: LogicalPlan, settings: Mapping[str, Any]) -> float:
    """Seconds from one checkpoint to the next; 0 for none but on demand.

    The topology's config takes precedence; without it, only effectively once has an interval.
    """
    if KEY in plan.opaque_config:
        raise _refused(plan, "something that is not a number")
    if KEY in plan.config:
        return _seconds(plan, plan.config[KEY])
    return float(settings["checkpoint.interval"]) if plan.reliability == "effectively_once" else 0.0


def _seconds(plan: LogicalPlan, value: object) -> float:
    try:
        seconds = float("nan" if isinstance(value, bool) else value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        seconds = math.nan
    if seconds == 0 or LEAST <= seconds < math.inf:
        return seconds
    raise _refused(plan, repr(value))


def _refused(plan: LogicalPlan, value: str) -> TopologyError:
    msg = f"topology {plan.name!r}: {KEY} must be a number of at least {LEAST:g}, or 0 for none, got {value}"
    return TopologyError(msg)
