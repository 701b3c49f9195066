"""What `update --runtime-config` takes: keys that can change while a topology runs, and their values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from heronpy.kernel.checkpoints import interval
from heronpy.kernel.config.layers import plain_value
from heronpy.kernel.errors import UsageError, UserError, did_you_mean
from heronpy.kernel.plans import LogicalPlan
from heronpy.kernel.tree.live_node import WHOLE_TOPOLOGY, in_effect
from heronpy.kernel.tree.paths import RUNNING, Live

#: keys with this prefix are the engine's, all others the topology's own
ENGINES = "topology."
#: those of the engine's that can change, with the least value they may have
CHANGEABLE = {
    "topology.max.spout.pending": 1.0,
    "topology.message.timeout.secs": 0.001,
    interval.KEY: 0.0,
}


def parse_runtime_config(assignments: Sequence[str], logical: LogicalPlan) -> dict[str, dict[str, Any]]:
    """["limit=3", "count:limit=5"] → {"": {"limit": 3}, "count": {"limit": 5}}."""
    given: dict[str, dict[str, Any]] = {}
    for assignment in assignments:
        left, equals, text = assignment.partition("=")
        component, colon, key = left.rpartition(":")
        if not equals or not key:
            msg = f"--runtime-config wants KEY=VALUE or COMPONENT:KEY=VALUE, got {assignment!r}"
            raise UsageError(msg)
        known = logical.parallelism()
        if colon and component not in known:
            msg = f"no component {component!r} in {logical.name}{did_you_mean(component, known)}"
            raise UserError(msg)
        value = plain_value(text)
        if key.startswith(ENGINES):
            _check(key, value, component)
        given.setdefault(component or WHOLE_TOPOLOGY, {})[key] = value
    interval.checkpoint_interval(in_effect(logical, Live(RUNNING, given)), {"checkpoint.interval": 1.0})
    return given


def _check(key: str, value: object, component: str) -> None:
    if key not in CHANGEABLE:
        msg = f"{key} cannot change while the topology runs{did_you_mean(key, CHANGEABLE)}"
        raise UserError(msg)
    if isinstance(value, bool) or not isinstance(value, int | float) or value < CHANGEABLE[key]:
        msg = f"{key} must be a number of at least {CHANGEABLE[key]:g}, got {value!r}"
        raise UserError(msg)
    if component and key == interval.KEY:
        msg = f"{key} is the whole topology's"
        raise UserError(msg, hint=f"{key}={value}")
