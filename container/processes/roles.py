"""Which code plays which role: `run(launch, child) -> exit code` of the module named here."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import cast

from heronpy.kernel.launch import Child, Role, TopologyLaunch
from heronpy.kernel.structs import prepare_structs

Run = Callable[[TopologyLaunch, Child], int]

ROLES: Mapping[Role, str] = {
    "instance": "heronpy.instances.main",
    "stream_manager": "heronpy.stream_manager.main",
    "metrics_manager": "heronpy.container.metrics_manager.main",
    "topology_master": "heronpy.kernel.master.main",
}


def roles_in(container: int) -> tuple[Role, ...]:
    """The roles that children of this container have, see `wanted_children`."""
    return tuple(role for role in ROLES if (role == "topology_master") == (container == 0))


def load(roles: Mapping[Role, str], role: Role) -> Run:
    warm = roles[role] in sys.modules  # then the zygote has prepared all
    run = cast("Run", import_module(roles[role]).run)
    if not warm:
        prepare_structs()  # every role has a second thread
    return run
