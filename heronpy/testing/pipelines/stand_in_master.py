"""The Topology Master of a test: runs, checkpoints and changes of plan, each from beginning to end."""

from __future__ import annotations

import functools
import random
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from heronpy.instances.execution.many_tasks import ManyTasks, in_order
from heronpy.instances.execution.memory_links import MemoryLinks
from heronpy.instances.flow_settings import FlowSettings
from heronpy.instances.saving.run_membership import has_runs
from heronpy.instances.task.build import ClassFinder, Task
from heronpy.kernel.checkpoints.manifest import Manifest, SavedTask, write_manifest
from heronpy.kernel.checkpoints.node import Checkpoints
from heronpy.kernel.checkpoints.stored import StoredPart
from heronpy.kernel.errors import TopologyError
from heronpy.kernel.plans import (
    ContainerPlan,
    InstancePlan,
    PackingPlan,
    PhysicalPlan,
    Resources,
    affected,
    next_plan,
)
from heronpy.kernel.protocol import Stored
from heronpy.kernel.tree.update import Handover, Phase, Update
from heronpy.stages.tasks.stage_spout import StageSpout
from heronpy.testing.clock import Clock
from heronpy.testing.pipelines.task_places import StoreInMemory, TaskPlace, TestSurroundings

#: seconds in which what is stored in memory must have been stored
_STORING = 30.0


class StandInMaster:
    """Owns the places of all tasks. Every method returns when nothing moves any more."""

    def __init__(
        self, plan: PhysicalPlan, find: ClassFinder, flow: FlowSettings, clock: Clock, seed: int | None
    ) -> None:
        self.plan = plan
        self._node = Checkpoints()
        self._update: Update | None = None
        self._next: PhysicalPlan | None = None
        self._next_task = 1 + max(task.id for task in plan.tasks)
        self._epoch = plan.epoch
        dice = None if seed is None else random.Random(seed)
        self._links = MemoryLinks()
        self._stored = threading.Event()
        order = in_order if dice is None else lambda members: dice.sample(members, len(members))
        self._loop = ManyTasks(self._links, clock=clock.monotonic, order=order)
        pick = dice.randrange if dice is not None else lambda _: 0
        self._around = TestSurroundings(
            find, flow, clock, pick, self._links, StoreInMemory(), self._stored.set
        )
        self.places: dict[int, TaskPlace] = {}
        for task in plan.tasks:
            self._start(task.id)
        self._begin_run()

    def settle(self) -> None:
        """Go on until nothing moves."""
        while self._loop.round():
            self._raise_failure()
        self._raise_failure()

    def until_next_due(self, longest: float) -> float:
        """Seconds until some task has something to do by the clock."""
        tasks = [place.task for place in self.places.values() if place.task is not None]
        return min((_until_due(task, self._around.clock, longest) for task in tasks), default=longest)

    def wake_all(self) -> None:
        """Something that is no frame may be there for any task."""
        for number in self.places:
            self._loop.wake(number)

    def of(self, component: str) -> list[TaskPlace]:
        """The places of a component's tasks, the lowest index first."""
        return [self.places[task.id] for task in self.plan.tasks_of(component)]

    def checkpoint(self) -> int:
        """Take a checkpoint; its number."""
        self._write(started=self._node.started + 1)
        number = self._node.started
        wanted = (number, self._node.run)
        self._until(lambda: all(_has(place.progress.snapshot, wanted) for place in self.places.values()))
        tasks = tuple(
            SavedTask(task.id, task.component, task.index, _parts(self.places[task.id].progress.snapshot))
            for task in self.plan.tasks
        )
        manifest = Manifest(
            topology=self.plan.topology, execution="1", id=number, run=self._node.run,
            epoch=self.plan.epoch, key_groups=self.plan.logical.key_groups, tasks=tasks,
            splits={one.name: one.splits for one in self.plan.logical.components if one.splits},
        )  # fmt: skip
        ref = write_manifest(self._around.store, manifest)
        self._write(complete=(*self._node.complete, ref)[-3:])
        self.settle()
        return number

    def crash(self, component: str) -> None:
        """The tasks of a component die; with effectively once all go back to the last checkpoint."""
        for place in self.of(component):
            place.kill()
            self._loop.remove(place.id)
            self._loop.add(place.id, place, place.link)
        self._begin_run()
        self._until(lambda: all(place.ready for place in self.places.values()))
        self.settle()

    def rescale(self, component: str, count: int) -> None:
        """Change the number of tasks of a component, as `heronpy update` does."""
        before = self.plan
        self._epoch += 1
        packing = _scaled(before, {component: count}, self._next_task)
        proposed = self._next = next_plan(before, packing, self._epoch)
        number = self._update.number if self._update is not None else 0
        self._update = Update(number=number, epoch=self._epoch, phase="proposed", packing=packing)
        old, new = {task.id for task in before.tasks}, {task.id for task in proposed.tasks}
        for task_id in sorted(new - old):
            self._start(task_id)
        self._enter("prepare")
        self._until(lambda: self._all(old, next_epoch=self._epoch))
        self._until(lambda: all(self.places[task_id].ready for task_id in new))
        handovers = self._cut(before, proposed)
        self._enter("load", handovers=tuple(handovers))
        self._until(lambda: self._all(old | new, loaded_epoch=self._epoch))
        self.plan, self._next_task = proposed, packing.next_task
        members = {task.id: self.places[task.id].incarnation for task in proposed.tasks}
        self._write(members=members if has_runs(proposed) else {})
        self._enter("release")
        self._until(lambda: self._all(new, current_epoch=self._epoch))
        self._enter("done")
        self.settle()
        for task_id in sorted(old - new):
            self._end(task_id)
        self._next = None
        self._tell()
        self.settle()

    def close(self) -> None:
        for place in self.places.values():
            place.close()

    def _cut(self, before: PhysicalPlan, proposed: PhysicalPlan) -> list[Handover]:
        handovers: list[Handover] = []
        for component in affected(before, proposed):
            assert self._update is not None
            self._enter("cut", cut=(*self._update.cut, component))
            givers = [self.places[task.id] for task in before.tasks_of(component)]
            self._until(functools.partial(_have_given, givers, self._epoch))
            for place in givers:
                report = place.progress.handover
                assert report is not None
                if report.error:
                    msg = f"the step cannot be rescaled: {report.error}"
                    raise TopologyError(msg)
                handovers.append(Handover(place.id, _parts(report)))
        return handovers

    def _start(self, task_id: int) -> None:
        place = self.places[task_id] = TaskPlace(self._around, task_id)
        self._loop.add(task_id, place, place.link)

    def _end(self, task_id: int) -> None:
        place = self.places.pop(task_id)
        self._loop.remove(task_id)
        self._links.close(task_id)
        place.close()

    def _begin_run(self) -> None:
        if not has_runs(self.plan):
            self._tell()
            return
        members = {place.id: place.incarnation for place in self.places.values()}
        base = self._node.complete[-1] if self._node.complete else None
        self._write(
            run=self._node.run + 1, base=base, members=members, epoch=self.plan.epoch,
            aborted=self._node.started,
        )  # fmt: skip

    def _write(self, **changes: Any) -> None:
        """The node `checkpoints`."""
        self._node = msgspec.structs.replace(self._node, number=self._node.number + 1, **changes)
        self._tell()

    def _enter(self, phase: Phase, **fields: Any) -> None:
        """The node `update`."""
        assert self._update is not None
        number = self._update.number + 1
        self._update = msgspec.structs.replace(self._update, phase=phase, number=number, **fields)
        self._tell()

    def _tell(self) -> None:
        for place in self.places.values():
            place.hear(self.plan, self._node, self._update, self._next)
        self.wake_all()

    def _all(self, tasks: set[int], **fields: int) -> bool:
        beats = [self.places[task].progress for task in tasks]
        return all(getattr(beat, name) == value for beat in beats for name, value in fields.items())

    def _until(self, reached: Callable[[], bool]) -> None:
        """Go on until this is so; what is written by a thread is waited for."""
        while True:
            self._stored.clear()
            self.settle()
            if reached():
                return
            if not self._stored.wait(_STORING):
                msg = (
                    f"nothing moves, and the tasks are at {[vars(p.progress) for p in self.places.values()]}"
                )
                raise AssertionError(msg)
            self.wake_all()

    def _raise_failure(self) -> None:
        __tracebackhide__ = True
        for place in self.places.values():
            if place.failure is not None:
                raise place.failure


def _until_due(task: Task, clock: Clock, longest: float) -> float:
    component, soonest = task.component, task.loop.until_due(longest)
    if isinstance(component, StageSpout) and (due := component.logic.due) is not None:
        soonest = min(soonest, max(0.001, due / 1_000_000 - clock.time()))
    return soonest


def _has(stored: Stored | None, wanted: tuple[int, int]) -> bool:
    if stored is not None and stored.error:
        msg = f"the checkpoint failed: {stored.error}"
        raise TopologyError(msg)
    return stored is not None and (stored.id, stored.run) == wanted


def _have_given(places: Sequence[TaskPlace], epoch: int) -> bool:
    reports = [place.progress.handover for place in places]
    return all(report is not None and report.id == epoch for report in reports)


def _parts(stored: Stored | None) -> tuple[StoredPart, ...]:
    assert stored is not None
    return tuple(
        StoredPart(part.object, part.checksum, part.bytes, tuple(part.groups), part.whole)
        for part in stored.parts
    )


def _scaled(plan: PhysicalPlan, wanted: Mapping[str, int], next_task: int) -> PackingPlan:
    """All in one container; what stays, stays, and the last go first."""
    kept = [
        InstancePlan(task.id, task.component, task.index)
        for task in plan.tasks
        if task.index < wanted.get(task.component, task.index + 1)
    ]
    for component, count in sorted(wanted.items()):
        for index in range(len(plan.tasks_of(component)), count):
            kept.append(InstancePlan(next_task, component, index))
            next_task += 1
    return PackingPlan(plan.topology, "test", (ContainerPlan(1, tuple(kept), Resources()),), next_task)
