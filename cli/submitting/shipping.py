"""What submit does for containers that run on other machines."""

from __future__ import annotations

import msgspec

from heronpy.container.remote.parcel.code import relocated
from heronpy.container.remote.shipped import write_shipped
from heronpy.container.remote.uploads import upload
from heronpy.kernel.checkpoints.interval import checkpoint_interval
from heronpy.kernel.config import Config
from heronpy.kernel.errors import UserError
from heronpy.kernel.launch import TopologyLaunch
from heronpy.kernel.plans import LogicalPlan
from heronpy.kernel.plugin import Registry, StateManager
from heronpy.kernel.plugin.opening import installed


def refuse_unreachable(config: Config, registry: Registry, topology: LogicalPlan) -> None:
    """Containers on other machines need a state tree, and a place for what they save, that they can see."""
    name = config.text("scheduler.name")
    if not registry.scheduler(name).remote(config):
        return
    state = config.text("state.manager")
    if not registry.state_manager(state).shared:
        msg = f"the scheduler {name!r} uses other machines, which do not see the state manager {state!r}"
        raise UserError(msg, hint="--state zookeeper --set state.zookeeper.hosts=…")
    keeps = any(component.keeps_objects for component in topology.components)
    if (keeps or checkpoint_interval(topology, config)) and not config.text("checkpoint.path"):
        msg = f"{topology.name!r} saves its state, and other machines do not see the disk of this one"
        raise UserError(msg, hint="--set checkpoint.path=…, to a folder that all machines see or a URL")


def shipped(launch: TopologyLaunch, state: StateManager, topology: LogicalPlan) -> LogicalPlan:
    """Upload what the containers need; the plan as they will find it."""
    files = upload(launch, installed(), topology.source)
    write_shipped(state, topology.name, files)
    return msgspec.structs.replace(topology, source=relocated(topology.source))
