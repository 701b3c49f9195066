"""Which processes belong into a container."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from heronpy.container.executor.supervisor import DesiredChild
from heronpy.kernel.errors import UserError
from heronpy.kernel.machine.addresses import METRICS_MANAGER, STREAM_MANAGER, manager_name, process_name
from heronpy.kernel.plans import InstancePlan, LogicalPlan, PackingPlan, is_fused

StartMethod = Literal["zygote", "spawn"]

#: key of a component's config that overrides the setting `container.start`
START_KEY = "heronpy.start"


def wanted_children(
    container: int, packing: PackingPlan, topology: LogicalPlan, start: str
) -> list[DesiredChild]:
    """The children of this container's executor under this plan; `start` is the setting container.start."""
    if container == 0:
        return [DesiredChild("topology_master", "topology-master")]
    wanted = [
        DesiredChild("stream_manager", manager_name(STREAM_MANAGER, container)),
        DesiredChild("metrics_manager", manager_name(METRICS_MANAGER, container)),
    ]
    placed = next((each.instances for each in packing.containers if each.id == container), ())
    methods = {
        each.name: _start_method(each.config.get(START_KEY, start), each.name) for each in topology.components
    }
    slots: dict[int, list[InstancePlan]] = {}
    for each in placed:
        slots.setdefault(each.slot, []).append(each)

    def name(first: InstancePlan) -> str:
        return process_name(f"{first.component}[{first.index}]", container, fused=is_fused(topology))

    return wanted + [_process(slot, instances, methods, name) for slot, instances in slots.items()]


def _process(
    slot: int,
    instances: Sequence[InstancePlan],
    methods: Mapping[str, StartMethod],
    name: Callable[[InstancePlan], str],
) -> DesiredChild:
    first, *others = sorted(instances, key=lambda each: each.task)
    spawned = any(methods.get(each.component) == "spawn" for each in instances)
    tasks = tuple(each.task for each in (first, *others))
    return DesiredChild("instance", name(first), slot, tasks, "spawn" if spawned else "zygote")


def _start_method(value: object, component: str) -> StartMethod:
    if value not in ("zygote", "spawn"):
        msg = f"component {component!r} has {START_KEY} = {value!r}; it may be 'zygote' or 'spawn'"
        raise UserError(msg)
    return value
