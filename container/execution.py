"""The node /NAME/execution, as far as the containers' side reads it."""

from __future__ import annotations

import msgspec

from heronpy.container.launch import TopologyLaunch
from heronpy.kernel.errors import NodeMissing
from heronpy.kernel.plugin import StateManager


class Execution(msgspec.Struct, frozen=True):
    """Who runs this topology. The node may hold more."""

    #: the scheduler plugin that was chosen at submit
    scheduler: str
    #: TopologyLaunch.execution: tells this submit from an earlier one of the same name
    id: str = ""


def read_execution(state: StateManager, topology: str) -> Execution | None:
    """None when there is no such topology, or it was never fully submitted."""
    try:
        return msgspec.json.decode(state.get(f"/{topology}/execution").value, type=Execution)
    except (NodeMissing, msgspec.DecodeError):
        return None


def is_current(state: StateManager, launch: TopologyLaunch) -> bool:
    """False once the topology was killed, also when one of the same name was submitted since."""
    found = read_execution(state, launch.topology)
    return found is not None and found.id in ("", launch.execution)
