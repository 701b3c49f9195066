"""Which tasks share a process: none by default, or all of a container (`topology.fuse`)."""

from __future__ import annotations

from typing import Final

import msgspec

from heronpy.kernel.errors import UserError, did_you_mean
from heronpy.kernel.plans.logical import LogicalPlan
from heronpy.kernel.plans.packing import ContainerPlan, PackingPlan

FUSE: Final = "topology.fuse"
_KINDS: Final = ("none", "container")


def is_fused(topology: LogicalPlan) -> bool:
    """Whether the tasks of a container live in one process."""
    kind = topology.config.get(FUSE, "none")
    if kind not in _KINDS:
        msg = f'{FUSE} must be "none" or "container", got {kind!r}{did_you_mean(str(kind), _KINDS)}'
        raise UserError(msg)
    return bool(kind == "container")


def fused(topology: LogicalPlan, packing: PackingPlan) -> PackingPlan:
    """The packing with the slots that the topology asks for.

    A task that runs keeps its slot, and those that join it in a container get the same: the process goes on
    with more tasks. A slot has the number of its first task, which is never used again.
    """
    if not is_fused(topology):
        return packing
    containers = tuple(map(_in_one_slot, packing.containers))
    return msgspec.structs.replace(packing, containers=containers)


def _in_one_slot(container: ContainerPlan) -> ContainerPlan:
    # new tasks have higher numbers: the first that is here has the slot of all that came since
    slot = min(container.instances, key=lambda instance: instance.task).slot
    instances = tuple(msgspec.structs.replace(instance, slot=slot) for instance in container.instances)
    return msgspec.structs.replace(container, instances=instances)
