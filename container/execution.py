"""Whether a topology is still the one that a process was started for."""

from __future__ import annotations

import msgspec

from heronpy.container.launch import TopologyLaunch
from heronpy.kernel.errors import NodeMissing
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.tree import Execution, Tree


def read_execution(state: StateManager, topology: str) -> Execution | None:
    """None when there is no such topology, or its submit failed before it was written."""
    try:
        return msgspec.json.decode(state.get(Tree(topology).execution).value, type=Execution)
    except (NodeMissing, msgspec.DecodeError):
        return None


def is_current(state: StateManager, launch: TopologyLaunch) -> bool:
    """False once the topology was killed, also when one of the same name was submitted since."""
    found = read_execution(state, launch.topology)
    return found is not None and found.id == launch.execution
