"""Which instance runs in which container, and what each may use."""

from __future__ import annotations

import msgspec

from heronpy.kernel.formats import NODE

GB = 1024**3
MB = 1024**2


#: the highest id of a spout task whose tuples are tracked: a root has 16 bits for it
LAST_TRACKED_TASK = 0xFFFF


class Resources(msgspec.Struct, frozen=True):
    """CPU in cores, RAM and disk in bytes."""

    cpu: float = 0.0
    ram: int = 0
    disk: int = 0

    def __add__(self, other: Resources) -> Resources:
        return Resources(self.cpu + other.cpu, self.ram + other.ram, self.disk + other.disk)


DEFAULT_INSTANCE = Resources(cpu=1.0, ram=GB, disk=GB)


class InstancePlan(msgspec.Struct, frozen=True):
    """One task of one component."""

    #: unique in the topology and never used again
    task: int
    component: str
    #: which of the component's instances, from 0
    index: int
    resources: Resources = DEFAULT_INSTANCE
    #: the process of the container that it lives in; one of its own, with the task's number, unless said
    slot: int = 0

    def __post_init__(self) -> None:
        if not self.slot:
            msgspec.structs.force_setattr(self, "slot", self.task)


class ContainerPlan(msgspec.Struct, frozen=True):
    """A container and its instances. Container 0, the master's, is never in a plan."""

    id: int
    instances: tuple[InstancePlan, ...]
    #: what the scheduler is asked for, padding included
    resources: Resources


class PackingPlan(msgspec.Struct, frozen=True):
    """The result of pack() and repack(). Knows nothing of any scheduler."""

    topology: str
    algorithm: str
    containers: tuple[ContainerPlan, ...]
    #: the id that the next new task gets
    next_task: int
    epoch: int = 1
    #: component → owner of key group (or split) 0, 1, …; a component that is not here is divided evenly
    key_groups: dict[str, tuple[int, ...]] = {}

    def instances(self) -> list[InstancePlan]:
        """All instances, by task id."""
        placed = (instance for container in self.containers for instance in container.instances)
        return sorted(placed, key=lambda instance: instance.task)

    def container(self, container_id: int) -> ContainerPlan:
        return next(container for container in self.containers if container.id == container_id)

    def counts(self) -> dict[str, int]:
        """Instances per component."""
        counts: dict[str, int] = {}
        for instance in self.instances():
            counts[instance.component] = counts.get(instance.component, 0) + 1
        return counts

    def changes(self, proposed: PackingPlan) -> tuple[list[int], list[int]]:
        """The ids of containers that come with another plan, and of those that go."""
        before = {container.id for container in self.containers}
        after = {container.id for container in proposed.containers}
        return sorted(after - before), sorted(before - after)

    def to_json(self) -> bytes:
        return NODE.encode(self)

    @classmethod
    def from_json(cls, data: bytes) -> PackingPlan:
        return NODE.decode(data, cls, "a packing plan")


def union(current: PackingPlan, proposed: PackingPlan) -> PackingPlan:
    """All instances of either plan: what runs while one plan replaces the other.

    A container of both plans asks for the resources of the proposed one, or more if it holds both.
    """
    old = {container.id: container for container in current.containers}
    new = {container.id: container for container in proposed.containers}
    return msgspec.structs.replace(
        proposed,
        containers=tuple(
            _merged(old.get(where, new[where]), new[where]) if where in new else old[where]
            for where in sorted(old.keys() | new.keys())
        ),
        next_task=max(current.next_task, proposed.next_task),
    )


def _merged(old: ContainerPlan, new: ContainerPlan) -> ContainerPlan:
    instances = {instance.task: instance for instance in (*old.instances, *new.instances)}
    resources = Resources(
        max(old.resources.cpu, new.resources.cpu),
        max(old.resources.ram, new.resources.ram),
        max(old.resources.disk, new.resources.disk),
    )
    return ContainerPlan(new.id, tuple(instances[task] for task in sorted(instances)), resources)
