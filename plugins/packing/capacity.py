"""How much a container holds: its capacity, the padding kept free, and the room between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from heronpy.kernel.config.units import format_size
from heronpy.kernel.errors import PackingError
from heronpy.kernel.plans import ContainerPlan, InstancePlan, Resources
from heronpy.kernel.plans.packing import DEFAULT_INSTANCE
from heronpy.plugins.packing.request import (
    CONTAINER_CPU,
    CONTAINER_DISK,
    CONTAINER_RAM,
    PackingRequest,
)

# sums of floats drift (0.1 + 0.2 > 0.3), so CPU is added up in whole millionths of a core
_MICRO = 1_000_000


class Size(NamedTuple):
    """Four dimensions that are added and compared alike; the number of instances is one of them."""

    cpu: int
    ram: int
    disk: int
    instances: int

    def times(self, count: int) -> Size:
        return Size(*(amount * count for amount in self))


def size_of(resources: Resources) -> Size:
    """The size of one instance."""
    return Size(round(resources.cpu * _MICRO), resources.ram, resources.disk, 1)


def total_size(sizes: Iterable[Size]) -> Size:
    cpu = ram = disk = instances = 0
    for size in sizes:
        cpu += size.cpu
        ram += size.ram
        disk += size.disk
        instances += size.instances
    return Size(cpu, ram, disk, instances)


class Capacity(msgspec.Struct, frozen=True):
    """The container of one request; all its containers are alike."""

    request: PackingRequest
    #: what instances may fill
    room: Size
    padding: Resources

    def check(self, components: Iterable[str]) -> None:
        """PackingError when not even an empty container can hold an instance of one of them."""
        for component in components:
            self._check(component)

    def _check(self, component: str) -> None:
        need = size_of(self.request.instance(component))
        for key, what, needed, room in (
            (CONTAINER_CPU, "CPU", need.cpu, self.room.cpu),
            (CONTAINER_RAM, "RAM", need.ram, self.room.ram),
            (CONTAINER_DISK, "disk", need.disk, self.room.disk),
        ):
            if needed > room:
                amount, left = (_shown(what, number) for number in (needed, max(room, 0)))
                msg = (
                    f"an instance of {component!r} needs {amount} of {what}, but an empty container has room"
                    f" for {left} after its padding: raise {key} or give {component!r} less"
                )
                raise PackingError(msg)

    def plan(self, container_id: int, instances: Sequence[InstancePlan]) -> ContainerPlan:
        """The container as the scheduler is asked for it: the size the user set, else what is in it."""
        used = total_size(size_of(instance.resources) for instance in instances)
        request, padding = self.request, self.padding
        asked = Resources(
            request.container_cpu or used.cpu / _MICRO + padding.cpu,
            request.container_ram or used.ram + padding.ram,
            request.container_disk or used.disk + padding.disk,
        )
        return ContainerPlan(container_id, tuple(instances), asked)


class Bin:
    """A container being filled, with running sums."""

    __slots__ = ("_cpu", "_disk", "_free", "_ram", "id", "instances")

    def __init__(self, container_id: int, room: Size, instances: Iterable[InstancePlan] = ()) -> None:
        self.id = container_id
        self.instances: list[InstancePlan] = []
        self._cpu, self._ram, self._disk, self._free = room
        for instance in instances:
            self.add(instance, size_of(instance.resources))

    def takes(self, size: Size) -> bool:
        return size[0] <= self._cpu and size[1] <= self._ram and size[2] <= self._disk and self._free > 0

    def add(self, instance: InstancePlan, size: Size) -> None:
        self.instances.append(instance)
        self._cpu -= size[0]
        self._ram -= size[1]
        self._disk -= size[2]
        self._free -= 1


def capacity_of(request: PackingRequest) -> Capacity:
    """Capacity is what was asked for, or as many default instances as a container may have."""
    most = request.max_instances
    whole = Resources(
        request.container_cpu or most * DEFAULT_INSTANCE.cpu,
        request.container_ram or most * DEFAULT_INSTANCE.ram,
        request.container_disk or most * DEFAULT_INSTANCE.disk,
    )
    share = request.padding_percentage / 100
    padding = Resources(
        max(whole.cpu * share, DEFAULT_INSTANCE.cpu),
        max(round(whole.ram * share), request.ram_padding),
        max(round(whole.disk * share), DEFAULT_INSTANCE.disk),
    )
    kept, filled = size_of(padding), size_of(whole)
    room = Size(filled.cpu - kept.cpu, filled.ram - kept.ram, filled.disk - kept.disk, most)
    return Capacity(request, room, padding)


def _shown(what: str, amount: int) -> str:
    return f"{amount / _MICRO:g}" if what == "CPU" else format_size(amount)
