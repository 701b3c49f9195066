"""What the data path needs to know: where every task runs and which task owns which key group."""

from __future__ import annotations

import msgspec

from heronpy.kernel.plans.logical import LogicalPlan
from heronpy.kernel.plans.packing import PackingPlan


class Task(msgspec.Struct, frozen=True):
    """One running copy of a component."""

    id: int
    component: str
    index: int
    container: int

    @property
    def label(self) -> str:
        """How people call it: count[1]."""
        return f"{self.component}[{self.index}]"


class PhysicalPlan(msgspec.Struct, frozen=True):
    """One routing table. Its epoch is on every frame that was routed with it."""

    topology: str
    epoch: int
    logical: LogicalPlan
    tasks: tuple[Task, ...]
    #: (component, stream); a frame carries the index
    streams: tuple[tuple[str, str], ...]
    #: for each component read by fields: the task that owns key group 0, 1, …
    key_groups: dict[str, tuple[int, ...]]

    def task(self, task_id: int) -> Task:
        return next(task for task in self.tasks if task.id == task_id)

    def tasks_of(self, component: str) -> list[Task]:
        """The component's tasks, lowest id first."""
        return [task for task in self.tasks if task.component == component]

    def upstream_of(self, component: str) -> list[Task]:
        """Every task that may send to this component."""
        feeding = {edge.component for edge in self.logical.component(component).inputs}
        return [task for task in self.tasks if task.component in feeding]

    def containers(self) -> list[int]:
        return sorted({task.container for task in self.tasks})

    def to_json(self) -> bytes:
        return msgspec.json.encode(self)

    @classmethod
    def from_json(cls, data: bytes) -> PhysicalPlan:
        return msgspec.json.decode(data, type=cls)


def physical_plan(logical: LogicalPlan, packing: PackingPlan) -> PhysicalPlan:
    """The first routing table of a topology: key groups lie in contiguous, even ranges."""
    tasks = sorted(
        (
            Task(instance.task, instance.component, instance.index, container.id)
            for container in packing.containers
            for instance in container.instances
        ),
        key=lambda task: task.id,
    )
    streams = tuple(
        (component.name, stream.name) for component in logical.components for stream in component.outputs
    )
    key_groups = {
        component.name: contiguous(
            [task.id for task in tasks if task.component == component.name], logical.key_groups
        )
        for component in logical.components
        if any(edge.grouping.kind == "fields" for edge in component.inputs)
    }
    return PhysicalPlan(logical.name, packing.epoch, logical, tuple(tasks), streams, key_groups)


def contiguous(owners: list[int], groups: int) -> tuple[int, ...]:
    """Deal `groups` key groups to the owners in ranges whose sizes differ by at most one."""
    return tuple(owners[group * len(owners) // groups] for group in range(groups))
