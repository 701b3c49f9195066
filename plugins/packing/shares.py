"""Dividing the RAM of containers among their instances, for packing that fixes the number of containers."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from heronpy.kernel.config.units import format_size
from heronpy.kernel.errors import PackingError
from heronpy.kernel.plans import ContainerPlan, InstancePlan, Resources
from heronpy.kernel.plans.packing import DEFAULT_INSTANCE, MB
from heronpy.plugins.packing.removal import Placement
from heronpy.plugins.packing.request import CONTAINER_RAM, RAM_MAP, RAM_PADDING, PackingRequest


def shared_out(request: PackingRequest, placed: Placement) -> tuple[ContainerPlan, ...]:
    """The containers with the resources of each instance; all containers are alike."""
    everyone = placed.values()
    whole = Resources(
        request.container_cpu or max(_cpu(each) for each in everyone) + DEFAULT_INSTANCE.cpu,
        request.container_ram or max(_ram(request, each) for each in everyone) + request.ram_padding,
        request.container_disk or max(_disk(each) for each in everyone) + DEFAULT_INSTANCE.disk,
    )
    # all get the share of the fullest container: instances of a component are alike wherever they run
    share = min(_share(request, each, whole.ram) for each in everyone)
    return tuple(
        ContainerPlan(where, _with_ram(request, placed[where], share), whole) for where in sorted(placed)
    )


def _cpu(instances: Sequence[InstancePlan]) -> float:
    return sum(instance.resources.cpu for instance in instances)


def _disk(instances: Sequence[InstancePlan]) -> int:
    return sum(instance.resources.disk for instance in instances)


def _ram(request: PackingRequest, instances: Sequence[InstancePlan]) -> int:
    """The default for each instance, or more where the components ask for more than that."""
    asked = sum(request.instance(instance.component).ram for instance in instances)
    return max(len(instances) * DEFAULT_INSTANCE.ram, asked)


def _share(request: PackingRequest, instances: Sequence[InstancePlan], whole: int) -> int:
    """The RAM of a container for each instance without a request of its own."""
    mapped = sum(request.ram.get(instance.component, 0) for instance in instances)
    sharing = [instance for instance in instances if instance.component not in request.ram]
    left = whole - request.ram_padding - mapped
    # below a megabyte the division has no meaning any more
    if left < len(sharing) * MB:
        largest = max(instances, key=lambda instance: request.ram.get(instance.component, 0))
        msg = (
            f"{CONTAINER_RAM} is {format_size(whole)}: too small for {len(instances)} instances such as"
            f" {largest.component!r} that ask for {format_size(mapped)} beside the padding of"
            f" {format_size(request.ram_padding)}; raise it, or lower {RAM_PADDING} or {RAM_MAP}"
        )
        raise PackingError(msg)
    return left // len(sharing) if sharing else whole


def _with_ram(
    request: PackingRequest, instances: Sequence[InstancePlan], share: int
) -> tuple[InstancePlan, ...]:
    resized: dict[tuple[str, Resources], Resources] = {}
    return tuple(_resized(request, instance, share, resized) for instance in instances)


def _resized(
    request: PackingRequest, instance: InstancePlan, share: int, made: dict[tuple[str, Resources], Resources]
) -> InstancePlan:
    ram = request.ram.get(instance.component, share)
    if instance.resources.ram == ram:
        return instance
    key = (instance.component, instance.resources)
    if key not in made:
        made[key] = msgspec.structs.replace(instance.resources, ram=ram)
    return msgspec.structs.replace(instance, resources=made[key])
