"""The rates of an update's components, before and after."""

from __future__ import annotations

import time
from collections.abc import Sequence

from heronpy.cli.reading.topologies import ANSWER_TIMEOUT
from heronpy.kernel.master.client import topology_status
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.status import InstanceStatus, TopologyStatus

#: A rate needs two reports, and the first one under the new plan may be an interval away.
SLACK = 0.5
#: seconds that one measurement takes at most
LONGEST = 5.0
#: measurements that a restart may spoil before none is shown
ATTEMPTS = 3


def rates_of(status: TopologyStatus, components: Sequence[str], *, within: float) -> dict[str, float]:
    """Tuples a second: executed by a bolt, emitted by a spout.

    Empty when there is no master to ask, or an instance was restarted within the last `within` seconds: after
    a restart the rate would show how long that took.
    """
    if status.state == "UNREACHABLE" or any(
        one.restarts and status.at - one.since < within for one in status.instances
    ):
        return {}
    return {name: sum(_rate(one) for one in status.instances if one.component == name) for name in components}


def rates_after(
    state: StateManager, name: str, components: Sequence[str], *, interval: float
) -> dict[str, float]:
    """The same for a whole interval in which all instances have worked by the new plan."""
    for _ in range(ATTEMPTS):
        begun = time.monotonic()
        time.sleep(measuring(interval))
        status = topology_status(state, name, ANSWER_TIMEOUT)
        rates = rates_of(status, components, within=time.monotonic() - begun)
        if rates:
            return rates
    return {}


def measuring(interval: float) -> float:
    """Seconds that a rate looks back, for reports that come every `interval`."""
    return min(2 * interval + SLACK, LONGEST)


def _rate(one: InstanceStatus) -> float:
    return one.emit_rate if one.kind == "spout" else one.execute_rate
