"""Stands in for the Topology Master: takes an update from phase to phase, or rolls it back on the way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec
from support.tasks.crew.crew import Crew

from heronpy.instances.saving.state import load_handovers
from heronpy.kernel.checkpoints.stored import StoredPart
from heronpy.kernel.plans import (
    ContainerPlan,
    InstancePlan,
    PackingPlan,
    PhysicalPlan,
    Resources,
    affected,
    next_plan,
)
from heronpy.kernel.state_transfer import KeptState, held_of, objections
from heronpy.kernel.tree.update import Handover, Phase, Update


class Updates:
    """One update after another."""

    def __init__(self, crew: Crew) -> None:
        self._crew = crew
        self._epoch = crew.plan.epoch
        self._next_task = 1 + max(task.id for task in crew.plan.tasks)
        self.done = 0
        self.restarted = 0
        self.rolled_back = 0
        #: to the newest update, when all tasks had handed over
        self.objections: list[str] = []
        self._running: Iterator[None] | None = None
        #: steps after which it is rolled back, if it has not been committed by then
        self._patience = 0

    @property
    def running(self) -> bool:
        return self._running is not None

    def begin(self, wanted: Mapping[str, int], patience: int, *, accepts_loss: bool = False) -> None:
        """Scale some components; in so many steps, or not at all."""
        crew = self._crew
        self._epoch += 1
        packing = scaled(crew.plan, wanted, self._next_task)
        proposed = next_plan(crew.plan, packing, self._epoch)
        number = crew.update.number + 1 if crew.update is not None else 1
        crew.update = Update(
            number=number, epoch=self._epoch, phase="proposed", packing=packing, accepts_loss=accepts_loss
        )
        self._patience = patience
        self._running = self._go(proposed, packing)

    def restart(self, container: int, patience: int) -> None:
        """Restart all tasks of a container as planned; or not at all, if it takes longer."""
        crew = self._crew
        self._epoch += 1
        packing = scaled(crew.plan, {}, self._next_task)
        number = crew.update.number + 1 if crew.update is not None else 1
        crew.update = Update(
            number=number,
            epoch=self._epoch,
            phase="proposed",
            kind="restart",
            containers=(container,),
            packing=packing,
        )
        self._patience = patience
        self._running = self._restart(next_plan(crew.plan, packing, self._epoch), container)

    def _restart(self, proposed: PhysicalPlan, container: int) -> Iterator[None]:
        crew, everybody = self._crew, {task.id for task in proposed.tasks}
        crew.next_plan = proposed
        self._write("prepare")
        while not self._all(everybody, next_epoch=self._epoch):
            yield
        handovers: list[Handover] = []
        for component in proposed.logical.upstream_first():
            assert crew.update is not None
            givers = [task.id for task in proposed.tasks_of(component) if task.container == container]
            if givers:
                self._write("cut", cut=(*crew.update.cut, component))
                while (given := self._given(givers)) is None:
                    yield
                handovers += given
        crew.plan = proposed
        yield
        self._write("load", handovers=tuple(handovers))
        for task in [task for task in proposed.tasks if task.container == container]:
            crew.end(task.id)
            groups = dict.fromkeys(range(len(proposed.key_groups.get(task.component, ()))), task.id)
            saved = load_handovers(crew.shelf, handovers, groups, (task.id,), task_id=task.id)
            crew.start(proposed, task.id, waits=True, saved=saved)
            yield
        while not self._all(everybody, loaded_epoch=self._epoch):
            yield
        self._write("release")
        while not self._all(everybody, current_epoch=self._epoch):
            yield
        self._write("done")
        crew.next_plan = None
        self.restarted += 1

    def step(self) -> None:
        """Look at the beats, and go on if there is reason to."""
        if self._running is None:
            return
        self._patience -= 1
        if next(self._running, self) is self:
            self._running = None
        elif self._patience <= 0 and self._crew.plan.epoch != self._epoch:
            self._roll_back()
            self._running = None

    def _go(self, proposed: PhysicalPlan, packing: PackingPlan) -> Iterator[None]:
        crew, before, epoch = self._crew, self._crew.plan, self._epoch
        old = {task.id for task in before.tasks}
        new = {task.id for task in proposed.tasks}
        crew.next_plan = proposed
        self._write("prepare")
        for task in sorted(new - old):
            crew.start(proposed, task, waits=True)
        while not (self._all(old, next_epoch=epoch) and all(crew.actors[task].ready for task in new)):
            yield
        handovers: list[Handover] = []
        for component in affected(before, proposed):
            assert crew.update is not None
            self._write("cut", cut=(*crew.update.cut, component))
            givers = [task.id for task in before.tasks_of(component)]
            while (given := self._given(givers)) is None:
                yield
            handovers += given
        self.objections = objections(before, proposed, self._held(before))
        assert crew.update is not None
        if self.objections and not crew.update.accepts_loss:
            self._roll_back()
            return
        self._write("load", handovers=tuple(handovers))
        while not self._all(old | new, loaded_epoch=epoch):
            yield
        crew.plan = proposed
        self._next_task = packing.next_task
        yield
        self._write("release")
        while not self._all(new, current_epoch=epoch):
            yield
        self._write("done")
        for task in sorted(old - new):
            crew.end(task)
        crew.next_plan = None
        self.done += 1

    def _roll_back(self) -> None:
        crew = self._crew
        assert crew.next_plan is not None
        known = {task.id for task in crew.plan.tasks}
        self._write("rollback")
        for task in crew.next_plan.tasks:
            if task.id not in known:
                crew.end(task.id)
        crew.next_plan = None
        self._write("rolled_back")
        self.rolled_back += 1

    def _write(self, phase: Phase, **fields: object) -> None:
        assert self._crew.update is not None
        number = self._crew.update.number + 1
        self._crew.update = msgspec.structs.replace(self._crew.update, phase=phase, number=number, **fields)

    def _all(self, tasks: set[int], **fields: int) -> bool:
        beats = [self._crew.actors[task].news.progress for task in tasks]
        return all(getattr(beat, name) == value for beat in beats for name, value in fields.items())

    def _held(self, plan: PhysicalPlan) -> dict[int, KeptState]:
        reports = {task.id: self._crew.actors[task.id].news.progress.handover for task in plan.tasks}
        return {task: held_of(report.held) for task, report in reports.items() if report is not None}

    def _given(self, tasks: list[int]) -> list[Handover] | None:
        found = []
        for task in tasks:
            report = self._crew.actors[task].news.progress.handover
            if report is None or report.id != self._epoch:
                return None
            assert not report.error, report.error
            parts = tuple(
                StoredPart(part.object, part.checksum, part.bytes, tuple(part.groups), part.whole)
                for part in report.parts
            )
            found.append(Handover(task, parts))
        return found


def scaled(plan: PhysicalPlan, wanted: Mapping[str, int], next_task: int, containers: int = 2) -> PackingPlan:
    """The packing with other numbers of instances: what stays, stays; the last go first."""
    kept = [
        InstancePlan(task.id, task.component, task.index)
        for task in plan.tasks
        if task.index < wanted.get(task.component, task.index + 1)
    ]
    for component, count in sorted(wanted.items()):
        for index in range(len(plan.tasks_of(component)), count):
            kept.append(InstancePlan(next_task, component, index))
            next_task += 1
    places = {task.id: task.container for task in plan.tasks}
    shared = {
        number: tuple(one for one in kept if places.get(one.task, 1 + one.task % containers) == number)
        for number in range(1, containers + 1)
    }
    placed = tuple(ContainerPlan(number, those, Resources()) for number, those in shared.items() if those)
    return PackingPlan(plan.topology, "test", placed, next_task)
