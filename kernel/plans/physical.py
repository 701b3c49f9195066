"""What the data path needs to know: where every task runs and which task owns which key group."""

from __future__ import annotations

from functools import cached_property

import msgspec

from heronpy.kernel.errors import PackingError
from heronpy.kernel.formats import NODE
from heronpy.kernel.plans.group_owners import checked_table, contiguous, groups_of, rebalanced
from heronpy.kernel.plans.logical import Component, LogicalPlan
from heronpy.kernel.plans.packing import PackingPlan


class PlacedTask(msgspec.Struct, frozen=True):
    """One running copy of a component."""

    id: int
    component: str
    index: int
    container: int
    #: the process of the container that it lives in; one of its own, with the task's number, unless said
    slot: int = 0

    def __post_init__(self) -> None:
        if not self.slot:
            msgspec.structs.force_setattr(self, "slot", self.id)

    @property
    def label(self) -> str:
        """How people call it: count[1]."""
        return f"{self.component}[{self.index}]"


class PhysicalPlan(msgspec.Struct, frozen=True, dict=True):
    """One routing table. Its epoch is on every frame that was routed with it.

    It may have many thousand tasks, and a task asks for each of its neighbours: look-ups use an index, which
    is made at the first one and is no part of the plan's value.
    """

    topology: str
    epoch: int
    logical: LogicalPlan
    tasks: tuple[PlacedTask, ...]
    #: (component, stream); a frame carries the index
    streams: tuple[tuple[str, str], ...]
    #: for each bolt that reads by fields: the task that owns key group 0, 1, …;
    #: for each spout with splits: the task that owns the first split, the second, …
    key_groups: dict[str, tuple[int, ...]]

    @cached_property
    def _by_id(self) -> dict[int, PlacedTask]:
        return {task.id: task for task in self.tasks}

    @cached_property
    def _by_component(self) -> dict[str, list[PlacedTask]]:
        found: dict[str, list[PlacedTask]] = {}
        for task in self.tasks:
            found.setdefault(task.component, []).append(task)
        return found

    def task(self, task_id: int) -> PlacedTask:
        return self._by_id[task_id]

    def has(self, task_id: int) -> bool:
        return task_id in self._by_id

    def tasks_of(self, component: str) -> list[PlacedTask]:
        """The component's tasks, lowest id first."""
        return list(self._by_component.get(component, ()))

    def emitters_of(self, component: str) -> int:
        """How many tasks may send to this component."""
        feeding = {edge.component for edge in self.logical.component(component).inputs}
        return sum(len(self._by_component.get(name, ())) for name in feeding)

    def upstream_of(self, component: str) -> list[PlacedTask]:
        """Every task that may send to this component."""
        feeding = {edge.component for edge in self.logical.component(component).inputs}
        return [task for task in self.tasks if task.component in feeding]

    def downstream_of(self, component: str) -> list[PlacedTask]:
        """Every task that this component may send to."""
        fed = {
            reader.name
            for reader in self.logical.components
            if any(edge.component == component for edge in reader.inputs)
        }
        return [task for task in self.tasks if task.component in fed]

    def containers(self) -> list[int]:
        return sorted({task.container for task in self.tasks})

    def to_json(self) -> bytes:
        return NODE.encode(self)

    @classmethod
    def from_json(cls, data: bytes) -> PhysicalPlan:
        return NODE.decode(data, cls, "a physical plan")


def physical_plan(logical: LogicalPlan, packing: PackingPlan) -> PhysicalPlan:
    """The first routing table of a topology: key groups lie in contiguous, even ranges."""
    tasks = _tasks(packing)
    ids = _ids(tasks)
    streams = tuple(
        (component.name, stream.name) for component in logical.components for stream in component.outputs
    )
    key_groups = {}
    for component in logical.components:
        owners = ids.get(component.name, [])
        groups = groups_of(logical, component)
        if component.name in packing.key_groups:
            asked = packing.key_groups[component.name]
            key_groups[component.name] = checked_table(component.name, asked, owners, groups)
        elif groups:
            key_groups[component.name] = contiguous(owners, groups)
    return PhysicalPlan(logical.name, packing.epoch, logical, tasks, streams, key_groups)


def next_plan(current: PhysicalPlan, packing: PackingPlan, epoch: int) -> PhysicalPlan:
    """The routing table that follows when the topology is packed like this.

    A component whose tasks stay the same keeps its groups where they are; one that grows or shrinks gives
    away as few as an even share allows. `key_groups` of the packing takes precedence, unless it only repeats
    what is in force.
    """
    tasks = _tasks(packing)
    _check_kept(current, tasks)
    counts = packing.counts()
    components = tuple(
        msgspec.structs.replace(component, parallelism=counts.get(component.name, 0))
        for component in current.logical.components
    )
    logical = msgspec.structs.replace(current.logical, components=components, epoch=epoch)
    ids = _ids(tasks)
    key_groups = {}
    for component in components:
        owners = ids.get(component.name, [])
        _check_owners(component, owners)
        before = current.key_groups.get(component.name)
        asked = packing.key_groups.get(component.name, before)
        if asked != before:
            groups = groups_of(logical, component)
            key_groups[component.name] = checked_table(component.name, asked or (), owners, groups)
        elif before is not None:
            same = owners == [task.id for task in current.tasks_of(component.name)]
            key_groups[component.name] = before if same else rebalanced(before, owners)
    return msgspec.structs.replace(current, epoch=epoch, logical=logical, tasks=tasks, key_groups=key_groups)


def moves(current: PhysicalPlan, proposed: PhysicalPlan) -> dict[str, dict[int, tuple[int, int]]]:
    """Component → group → (the task that owns it, the task that will)."""
    found = {}
    for component, before in current.key_groups.items():
        pairs = zip(before, proposed.key_groups[component], strict=True)
        moved = {group: pair for group, pair in enumerate(pairs) if pair[0] != pair[1]}
        if moved:
            found[component] = moved
    return found


def affected(current: PhysicalPlan, proposed: PhysicalPlan) -> list[str]:
    """The components whose tasks or groups are not the same in both, upstream ones first."""
    return [
        name
        for name in current.logical.upstream_first()
        if current.tasks_of(name) != proposed.tasks_of(name)
        or current.key_groups.get(name) != proposed.key_groups.get(name)
    ]


def _tasks(packing: PackingPlan) -> tuple[PlacedTask, ...]:
    placed = (
        PlacedTask(instance.task, instance.component, instance.index, container.id, instance.slot)
        for container in packing.containers
        for instance in container.instances
    )
    return tuple(sorted(placed, key=lambda task: task.id))


def _ids(tasks: tuple[PlacedTask, ...]) -> dict[str, list[int]]:
    """Component → the ids of its tasks, lowest first."""
    found: dict[str, list[int]] = {}
    for task in tasks:
        found.setdefault(task.component, []).append(task.id)
    return found


def _check_kept(current: PhysicalPlan, tasks: tuple[PlacedTask, ...]) -> None:
    """A running task cannot become another one, nor go elsewhere; PackingError if a plugin thinks so."""
    known = {task.id: task for task in current.tasks}
    names = {component.name for component in current.logical.components}
    for task in tasks:
        before = known.get(task.id, task)
        if task.component not in names:
            msg = f"the packing has task {task.id} of {task.component!r}, which is not in the topology"
            raise PackingError(msg)
        if task != before:
            msg = (
                f"the packing turns task {task.id} ({_placed(before)}) into {_placed(task)}:"
                " an instance that stays must keep its place"
            )
            raise PackingError(msg)


def _placed(task: PlacedTask) -> str:
    process = "" if task.slot == task.id else f", process {task.slot}"
    return f"{task.label} in container {task.container}{process}"


def _check_owners(component: Component, owners: list[int]) -> None:
    if not owners:
        msg = f"the packing leaves no instance of {component.name!r}: keep one"
        raise PackingError(msg)
