"""Who is there: the newest word of every task and Stream Manager. Decides; does no I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from heronpy.kernel.addresses import STREAM_MANAGER, manager_name
from heronpy.kernel.checkpoints.stored import StoredPart
from heronpy.kernel.plans import PhysicalPlan, Task
from heronpy.kernel.protocol import ContainerBeat, InstanceBeat, Stored
from heronpy.kernel.tree import ChildView

#: states of a task that does what it should
AT_WORK: Final = frozenset({"running", "paused"})


class Roll:
    """The newest incarnation counts, and what its predecessors still say does not."""

    def __init__(self) -> None:
        self.beats: dict[int, InstanceBeat] = {}
        #: container → incarnation of its Stream Manager
        self.managers: dict[int, int] = {}
        #: by name, as the executors publish them
        self.children: Mapping[str, ChildView] = {}

    def on_container(self, beat: ContainerBeat) -> None:
        if beat.incarnation < self.managers.get(beat.container, 0):
            return
        self.managers[beat.container] = beat.incarnation
        for instance in beat.instances:
            known = self.beats.get(instance.task)
            if known is None or instance.incarnation >= known.incarnation:
                self.beats[instance.task] = instance

    def keep_only(self, plan: PhysicalPlan) -> None:
        """Forget everybody else: who was meant for a plan that did not come is not meant for the next."""
        tasks = {task.id for task in plan.tasks}
        self.beats = {task: beat for task, beat in self.beats.items() if task in tasks}
        self.managers = {each: self.managers[each] for each in plan.containers() if each in self.managers}

    def beat(self, task: Task) -> InstanceBeat:
        return self.beats.get(task.id, InstanceBeat(task=task.id, state="missing"))

    def incarnation(self, task: Task) -> int:
        """0 for one that was never heard."""
        return self.beat(task).incarnation

    def is_there(self, task: Task) -> bool:
        """Heard, not failed, and nobody has seen it end."""
        beat = self.beat(task)
        if beat.state in ("missing", "failed"):
            return False
        return not self._has_ended(task.label, beat.incarnation)

    def manager_is_there(self, container: int) -> bool:
        heard = self.managers.get(container, 0)
        return heard > 0 and not self._has_ended(manager_name(STREAM_MANAGER, container), heard)

    def _has_ended(self, name: str, incarnation: int) -> bool:
        """By its executor's word, which may be older than its own, but not than its successor's."""
        child = self.children.get(name)
        return child is not None and 0 < incarnation <= child.gone

    def absent(self, plan: PhysicalPlan) -> list[str]:
        """Everybody who is not there, as they are called."""
        managers = [f"container {each}" for each in plan.containers() if not self.manager_is_there(each)]
        return managers + [task.label for task in plan.tasks if not self.is_there(task)]

    def idle(self, plan: PhysicalPlan) -> list[str]:
        """Everybody who does not work as they should, and what they do instead."""
        return [
            *(f"container {each} (missing)" for each in plan.containers() if not self.manager_is_there(each)),
            *(
                self.doing(task)
                for task in plan.tasks
                if self.beat(task).state not in AT_WORK or not self.is_there(task)
            ),
        ]

    def behind(self, plan: PhysicalPlan, run: int) -> list[str]:
        """Everybody who is not in this run yet."""
        late = ((task, self.beat(task).run) for task in plan.tasks)
        return [f"{task.label} (in run {known} of {run})" for task, known in late if known != run]

    def incarnations(self, tasks: Iterable[Task]) -> dict[int, int]:
        return {task.id: self.incarnation(task) for task in tasks}

    def doing(self, task: Task) -> str:
        """A task and what it is busy with: count[1] (process() for 12 s)."""
        beat = self.beat(task)
        if self._has_ended(task.label, beat.incarnation):
            how = self._last_exit(task.label)
            return f"{task.label} (ended: {how})" if how else f"{task.label} (ended with its container)"
        return f"{task.label} ({beat.busy or beat.error or beat.state})"

    def is_of_before(self, task: Task) -> bool:
        """Ended with its container, and the one that takes its place has not been heard."""
        ended = self._has_ended(task.label, self.incarnation(task))
        return ended and not self._last_exit(task.label)

    def fate(self, task: Task) -> str:
        """What became of a task that is another process now."""
        return self._fate(task.label, task.label)

    def manager_fate(self, container: int) -> str:
        """What became of a Stream Manager that is another process now."""
        return self._fate(
            manager_name(STREAM_MANAGER, container), f"the stream manager of container {container}"
        )

    def _fate(self, name: str, spoken: str) -> str:
        how = self._last_exit(name)
        return f"{spoken} ended: {how}" if how else f"{spoken} was started again"

    def _last_exit(self, name: str) -> str:
        child = self.children.get(name)
        return child.last_exit if child is not None else ""


def parts_of(stored: Stored) -> tuple[StoredPart, ...]:
    """As they stand in manifests and in the state tree."""
    return tuple(
        StoredPart(part.object, part.checksum, part.bytes, tuple(part.groups), part.whole, part.opaque)
        for part in stored.parts
    )


def named(labels: list[str], most: int = 5) -> str:
    """The first few, for a line that somebody reads."""
    more = f" and {len(labels) - most} more" if len(labels) > most else ""
    return ", ".join(labels[:most]) + more
