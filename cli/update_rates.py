"""How fast the components of an update are, before and after."""

from __future__ import annotations

import time
from collections.abc import Sequence

from heronpy.cli.topologies import ANSWER_TIMEOUT
from heronpy.kernel.master.client import topology_status
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.status import InstanceStatus, TopologyStatus

#: A rate lies between two reports, and the first that knows of the new plan may be an interval away.
SLACK = 0.5
#: nobody waits longer for a number
LONGEST = 5.0


def rates_of(status: TopologyStatus, components: Sequence[str]) -> dict[str, float]:
    """Tuples a second: what a bolt takes, what a spout gives. Empty when there is nobody to ask."""
    if status.state == "UNREACHABLE":
        return {}
    return {name: sum(_rate(one) for one in status.instances if one.component == name) for name in components}


def rates_after(
    state: StateManager, name: str, components: Sequence[str], *, interval: float
) -> dict[str, float]:
    """The same for a whole interval in which everybody has worked by the new plan."""
    time.sleep(min(2 * interval + SLACK, LONGEST))
    return rates_of(topology_status(state, name, ANSWER_TIMEOUT), components)


def _rate(one: InstanceStatus) -> float:
    return one.emit_rate if one.kind == "spout" else one.execute_rate
