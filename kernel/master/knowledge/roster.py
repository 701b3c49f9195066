"""Which processes run, with which tasks: the newest beat of each, and of every Stream Manager.

Decides; does no I/O.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from heronpy.kernel.checkpoints.stored import StoredPart
from heronpy.kernel.machine.addresses import STREAM_MANAGER, manager_name
from heronpy.kernel.plans import PhysicalPlan, PlacedTask
from heronpy.kernel.protocol import ContainerBeat, InstanceBeat, ProcessBeat, Stored
from heronpy.kernel.tree.paths import ChildView, ExecutorNode

#: states of a task that does what it should
AT_WORK: Final = frozenset({"running", "paused"})


class Roster:
    """The newest incarnation of a process counts, for all its tasks; beats of predecessors are ignored."""

    def __init__(self) -> None:
        self._beats: dict[int, InstanceBeat] = {}
        #: task → the last beat of the process that it lives in
        self._processes: dict[int, ProcessBeat] = {}
        #: container → incarnation of its Stream Manager
        self.managers: dict[int, int] = {}
        self._executors: Mapping[int, ExecutorNode] = {}
        #: by container and task: the child that the task lives in, as its executor reports it
        self._holders: dict[tuple[int, int], ChildView] = {}

    @property
    def executors(self) -> Mapping[int, ExecutorNode]:
        """Container → its executor, as published."""
        return self._executors

    @executors.setter
    def executors(self, executors: Mapping[int, ExecutorNode]) -> None:
        self._executors = executors
        self._holders = {
            (container, task): child
            for container, executor in executors.items()
            for task, child in executor.holders().items()
        }

    def on_container(self, beat: ContainerBeat) -> None:
        if beat.incarnation < self.managers.get(beat.container, 0):
            return
        self.managers[beat.container] = beat.incarnation
        for process in beat.processes:
            for instance in process.instances:
                known = self._processes.get(instance.task)
                if known is None or process.incarnation >= known.incarnation:
                    self._beats[instance.task] = instance
                    self._processes[instance.task] = process

    def keep_only(self, plan: PhysicalPlan) -> None:
        """Forget all other tasks: one of a plan that was rolled back is not one of the next plan."""
        tasks = {task.id for task in plan.tasks}
        self._beats = {task: beat for task, beat in self._beats.items() if task in tasks}
        self._processes = {task: process for task, process in self._processes.items() if task in tasks}
        self.managers = {each: self.managers[each] for each in plan.containers() if each in self.managers}

    def beat(self, task: PlacedTask) -> InstanceBeat:
        return self._beats.get(task.id, InstanceBeat(task=task.id, state="missing"))

    def process(self, task: PlacedTask) -> ProcessBeat:
        """The process that the task lives in, with incarnation 0 if it was never heard."""
        return self._processes.get(task.id, ProcessBeat(slot=task.slot))

    def incarnation(self, task: PlacedTask) -> int:
        """Of its process; 0 if that has sent no beat yet."""
        return self.process(task).incarnation

    def is_there(self, task: PlacedTask) -> bool:
        """It has sent a beat, has not failed, and no executor has seen its process end."""
        return self.beat(task).state not in ("missing", "failed") and not self._task_has_ended(task)

    def _task_has_ended(self, task: PlacedTask) -> bool:
        return self._has_ended(task.container, self._holder(task), self.incarnation(task))

    def manager_is_there(self, container: int) -> bool:
        heard = self.managers.get(container, 0)
        return heard > 0 and not self._has_ended(container, self._manager(container), heard)

    def _has_ended(self, container: int, child: ChildView | None, incarnation: int) -> bool:
        """As its executor reports, which may be later than the last beat, but not than a successor's."""
        executor = self.executors.get(container)
        gone = max(executor.gone if executor is not None else 0, child.gone if child is not None else 0)
        return 0 < incarnation <= gone

    def _holder(self, task: PlacedTask) -> ChildView | None:
        return self._holders.get((task.container, task.id))

    def _manager(self, container: int) -> ChildView | None:
        executor = self.executors.get(container)
        return (
            executor.children.get(manager_name(STREAM_MANAGER, container)) if executor is not None else None
        )

    def absent(self, plan: PhysicalPlan) -> list[str]:
        """Labels of the missing containers and tasks."""
        managers = [f"container {each}" for each in plan.containers() if not self.manager_is_there(each)]
        return managers + [task.label for task in plan.tasks if not self.is_there(task)]

    def idle(self, plan: PhysicalPlan) -> list[str]:
        """The containers and tasks that do not run, each with what it does instead."""
        return [
            *(f"container {each} (missing)" for each in plan.containers() if not self.manager_is_there(each)),
            *(
                self.doing(task)
                for task in plan.tasks
                if self.beat(task).state not in AT_WORK or not self.is_there(task)
            ),
        ]

    def behind(self, plan: PhysicalPlan, run: int) -> list[str]:
        """The tasks that are not in this run yet."""
        late = ((task, self.beat(task).run) for task in plan.tasks)
        return [f"{task.label} (in run {known} of {run})" for task, known in late if known != run]

    def incarnations(self, tasks: Iterable[PlacedTask]) -> dict[int, int]:
        return {task.id: self.incarnation(task) for task in tasks}

    def doing(self, task: PlacedTask) -> str:
        """A task and what it is busy with: count[1] (process() for 12 s)."""
        beat = self.beat(task)
        how, ended = _last_exit(self._holder(task)), self._task_has_ended(task)
        if how and (ended or not self.incarnation(task)):
            return f"{task.label} (ended: {how})"
        if ended:
            return f"{task.label} (ended with its container)"
        return f"{task.label} ({beat.busy or beat.error or beat.state})"

    def is_of_before(self, task: PlacedTask) -> bool:
        """Whether it ended with its container and its successor has sent no beat yet."""
        executor = self.executors.get(task.container)
        return executor is not None and 0 < self.incarnation(task) <= executor.gone

    def fate(self, task: PlacedTask) -> str:
        """How the predecessor of a task's process ended."""
        return _fate(task.label, self._holder(task))

    def manager_fate(self, container: int) -> str:
        """How the predecessor of a Stream Manager ended."""
        return _fate(f"the stream manager of container {container}", self._manager(container))


def _fate(spoken: str, child: ChildView | None) -> str:
    how = _last_exit(child)
    return f"{spoken} ended: {how}" if how else f"{spoken} was started again"


def _last_exit(child: ChildView | None) -> str:
    return child.last_exit if child is not None else ""


def parts_of(stored: Stored) -> tuple[StoredPart, ...]:
    """As they are written to manifests and to the state tree."""
    return tuple(
        StoredPart(
            part.object,
            part.checksum,
            part.bytes,
            tuple(part.groups),
            part.whole,
            part.opaque,
            part.entries,
        )
        for part in stored.parts
    )


def named(labels: list[str], most: int = 5) -> str:
    """The first few labels, for one line of text."""
    more = f" and {len(labels) - most} more" if len(labels) > most else ""
    return ", ".join(labels[:most]) + more
