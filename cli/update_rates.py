"""How fast the components of an update are, before and after."""

from __future__ import annotations

import time
from collections.abc import Sequence

from heronpy.kernel.master.client import MasterClient
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.status import InstanceStatus, TopologyStatus

#: a topology that has just been rerouted gets so long to show its new speed
SETTLE = 3.0
ASK_EVERY = 0.2


def rates_of(status: TopologyStatus, components: Sequence[str]) -> dict[str, float]:
    """Tuples a second: what a bolt takes, what a spout gives. Empty when there is nobody to ask."""
    if status.state == "UNREACHABLE":
        return {}
    return {name: sum(_rate(one) for one in status.instances if one.component == name) for name in components}


def rates_after(
    state: StateManager, name: str, components: Sequence[str], *, answer: float
) -> dict[str, float]:
    """The same when every instance has reported some work, or has had time to."""
    deadline = time.monotonic() + SETTLE
    with MasterClient(state, name) as client:
        while True:
            status = client.status(answer)
            quiet = [one for one in status.instances if one.component in components and not _rate(one)]
            if not quiet or status.state != "RUNNING" or time.monotonic() > deadline:
                return rates_of(status, components)
            time.sleep(ASK_EVERY)


def _rate(one: InstanceStatus) -> float:
    return one.emit_rate if one.kind == "spout" else one.execute_rate
