"""All tasks of a topology on one thread: frames that wait on their way, a master played by the test."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable
from typing import Any

import msgspec
from support.tasks.diced_links import DicedLinks

from heronpy.instances.control_events import Abandoned, EventInbox
from heronpy.instances.execution.many_tasks import ManyTasks
from heronpy.instances.execution.turn import Turn
from heronpy.instances.flow_settings import FlowSettings
from heronpy.instances.progress import Progress
from heronpy.instances.saving.run_membership import (
    LeaveForNextRun,
    has_runs,
    origin_of,
    rows_are_unsent,
    run_of,
)
from heronpy.instances.saving.snapshot import SavingSettings
from heronpy.instances.saving.state import load_checkpoint
from heronpy.instances.saving.state.state_saver import Kind
from heronpy.instances.task.build import Task, build_task
from heronpy.kernel.checkpoints.manifest import Manifest, SavedTask, write_manifest
from heronpy.kernel.checkpoints.node import Checkpoints
from heronpy.kernel.checkpoints.object_names import own_prefix
from heronpy.kernel.checkpoints.stored import CheckpointRef, StoredPart
from heronpy.kernel.config import Config
from heronpy.kernel.errors import ObjectMissing
from heronpy.kernel.flow.frame import DATA, unseal
from heronpy.kernel.plans import PhysicalPlan
from heronpy.kernel.plugin.checkpoint_store import CheckpointStore
from heronpy.kernel.protocol import Stored
from heronpy.kernel.tree.update import Update
from heronpy.testing.placing import Finder

#: little credit and small batches, so that rows wait everywhere
TIGHT = FlowSettings(batch_tuples=3, credit_initial=4, credit_window=0.0001, spout_calls=2, linger=0.0)


class MemoryStore(CheckpointStore):
    """Objects in a dict."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}

    def initialize(self, config: Config) -> None:
        pass

    def write(self, name: str, chunks: Iterable[bytes]) -> None:
        self.objects[name] = b"".join(chunks)

    def read(self, name: str) -> bytes:
        if name not in self.objects:
            raise ObjectMissing(name)
        return self.objects[name]

    def names(self, prefix: str) -> list[str]:
        return sorted(name for name in self.objects if name.startswith(prefix))

    def delete(self, name: str) -> None:
        self.objects.pop(name, None)


class Place:
    """Where one task lives: its process as others see it, whatever task is in it. The loop calls it."""

    def __init__(self, ensemble: Ensemble, task_id: int) -> None:
        self._ensemble = ensemble
        self.id = task_id
        self.incarnation = 1
        self.task: Task | None = None
        self.attention: EventInbox | None = None
        self.link = ensemble.links.open(task_id)
        self.link.handler = self._on_frame
        # what the control thread would have heard
        self.news = 0
        self.plan: PhysicalPlan | None = ensemble.plan
        self.active = True
        self.checkpoints: Checkpoints | None = ensemble.node
        self.update: Update | None = None
        self.next_plan: PhysicalPlan | None = None
        self.progress = Progress()

    def tell(self) -> None:
        """The test looks at the progress itself."""

    def hear(self) -> None:
        """News reaches the process."""
        self.plan, self.checkpoints = self._ensemble.plan, self._ensemble.node
        self.news += 1

    def on_stored(self, stored: Stored, kind: Kind) -> None:
        setattr(self.progress, kind, stored)

    def turn(self) -> Turn:
        """Look, then one turn of the task; one that is abandoned is built anew the next time."""
        try:
            if self.task is None:
                self._build()
                return Turn.MORE
            assert self.attention is not None
            self.attention.look()
            turn = self.task.turn()
            self._wait_for_writer(self.task)
        except Abandoned:
            assert self.task is not None
            self.task.abandon()
            self.task = None
            return Turn.MORE
        return turn

    def patience(self) -> float:
        return self.task.patience() if self.task is not None else 0.0

    def kill(self) -> None:
        """The process dies without a word, and its successor starts."""
        self.end()
        self.incarnation += 1
        self.progress = Progress()

    def end(self) -> None:
        if self.task is not None and self.task.saver is not None:
            self.task.saver.abandon()
        self.task = None

    def _on_frame(self, prefix: bytes, payload: bytes) -> None:
        if self.task is not None:
            self.task.on_frame(prefix, payload)
            self._ensemble.note_queued(self.task)

    def _build(self) -> None:
        """Begin with what the node says, if we are to take part."""
        plan, node = self.plan, self.checkpoints
        assert plan is not None
        assert node is not None
        run = run_of(plan, node, self.id, self.incarnation)
        if run is None:
            return
        ensemble, origin = self._ensemble, origin_of(plan, node)
        saved = load_checkpoint(ensemble.store, origin, plan, self.id) if origin is not None else None
        rows = rows_are_unsent(plan, node, first=self.incarnation == 1)
        keeping = SavingSettings(
            lambda: ensemble.store, own_prefix("t", ensemble.execution), self.on_stored, saved, rows
        )
        self.task = build_task(
            plan, self.id, self.incarnation, self.link, ensemble.settings, ensemble.find,
            ensemble.clock, ensemble.dice.randrange, run=run, keeping=keeping, may_wait=False,
        )  # fmt: skip
        assert self.task.saving is not None
        self.attention = EventInbox(self)
        self.attention.listeners += [LeaveForNextRun(run, self.id, self.incarnation), self.task.saving]
        self.task.initialize()
        self.progress.run = run

    def _wait_for_writer(self, task: Task) -> None:
        """Threads are not part of the game: equal seeds run equally."""
        assert task.saver is not None
        writing, until = task.saver._writing, time.monotonic() + 10
        while writing is not None and not self._has_stored(writing.stored.id) and time.monotonic() < until:
            time.sleep(0.0002)

    def _has_stored(self, checkpoint: int) -> bool:
        return self.progress.snapshot is not None and self.progress.snapshot.id >= checkpoint


class Ensemble:
    """Tasks take turns in an order that the seed decides, and so does everything else."""

    def __init__(
        self, plan: PhysicalPlan, find: Finder, seed: int, *, settings: FlowSettings = TIGHT,
        store: MemoryStore | None = None, base: CheckpointRef | None = None,
        execution: str = "e",
    ) -> None:  # fmt: skip
        self.plan = plan
        self.execution = execution
        self.find = find
        self.settings = settings
        self.dice = random.Random(seed)
        self.now = 0.0
        self.store = store or MemoryStore()
        self.node = Checkpoints.submitted_with(base)
        self.links = DicedLinks(self.dice)
        self._loop = ManyTasks(
            self.links, clock=self.clock, order=lambda members: self.dice.sample(members, len(members))
        )
        #: most tuples that ever were in the inbox of a task or set aside there
        self.most_queued = 0
        self.places = {task.id: Place(self, task.id) for task in plan.tasks}
        for place in self.places.values():
            self._loop.add(place.id, place, place.link)
        if has_runs(plan):
            self.begin_run()

    def clock(self) -> float:
        return self.now

    def lose_data(self) -> int:
        """A data frame vanishes on its way, if there is any; how many tuples it had."""
        for place in self.places.values():
            for frame in place.link.arrived:
                prefix = unseal(*frame)
                if prefix.kind == DATA:
                    place.link.arrived.remove(frame)
                    return prefix.tuples
        return 0

    def note_queued(self, task: Task) -> None:
        self.most_queued = max(self.most_queued, task.parts.counters.queued)

    def round(self) -> None:
        """News reaches most of the tasks; then each takes a turn, if it has something to do."""
        self.now += 0.01
        for place in self.places.values():
            if self.dice.random() < 0.7:
                place.hear()
                self._loop.wake(place.id)
        self._loop.round()

    def write(self, **changes: Any) -> None:
        """The master writes the node."""
        number = self.node.number + 1
        self.node = msgspec.structs.replace(self.node, number=number, **changes)

    def begin_run(self) -> None:
        complete = self.node.complete
        members = {place.id: place.incarnation for place in self.places.values()}
        base = complete[-1] if complete else self.node.base
        self.write(run=self.node.run + 1, base=base, members=members, aborted=self.node.started)

    def begin_checkpoint(self) -> None:
        self.write(started=self.node.started + 1)

    def give_up_checkpoint(self) -> None:
        self.write(aborted=self.node.started)

    @property
    def saving(self) -> bool:
        """Whether a checkpoint is under way."""
        newest = self.node.complete[-1].id if self.node.complete else 0
        return self.node.started > max(newest, self.node.aborted)

    @property
    def ready(self) -> bool:
        """Whether every task takes part in the run, so that a checkpoint may begin."""
        return all(place.task and place.progress.run == self.node.run for place in self.places.values())

    @property
    def drained(self) -> bool:
        """Whether all that the tasks emitted has been processed."""
        tasks = [place.task for place in self.places.values() if place.task is not None]
        return all(task.parts.outbox.settling.idle for task in tasks)

    def complete_checkpoint(self) -> bool:
        """Write the manifest, if every task has stored its part by now."""
        wanted = (self.node.started, self.node.run if has_runs(self.plan) else 0)
        stored = {place.id: place.progress.snapshot for place in self.places.values()}
        if not all(
            one is not None and (one.id, one.run) == wanted and not one.error for one in stored.values()
        ):
            return False
        saved = tuple(
            SavedTask(task.id, task.component, task.index, _parts(stored[task.id]))
            for task in self.plan.tasks
        )
        manifest = Manifest(
            topology="t", execution=self.execution, id=self.node.started, run=self.node.run,
            epoch=self.plan.epoch, key_groups=self.plan.logical.key_groups, tasks=saved,
            splits={one.name: one.splits for one in self.plan.logical.components if one.splits},
        )  # fmt: skip
        ref = write_manifest(self.store, manifest)
        self.write(complete=(*self.node.complete, ref)[-3:])
        return True

    @property
    def broken(self) -> bool:
        """Whether a task has said that it missed something in this run."""
        return any(place.task and _lost(place.task) for place in self.places.values())

    def checkpoint(self, rounds: int = 3000) -> None:
        """Take one checkpoint from beginning to end."""
        for _ in range(rounds):
            if self.ready:
                break
            self.round()
        self.begin_checkpoint()
        for _ in range(rounds):
            self.round()
            if self.complete_checkpoint():
                for _ in range(5):
                    self.round()
                return
        waiting = [place.id for place in self.places.values() if place.progress.snapshot is None]
        msg = f"checkpoint {self.node.started} was not completed: {waiting}"
        raise AssertionError(msg)

    def close(self) -> None:
        for place in self.places.values():
            place.end()


def _parts(stored: Stored | None) -> tuple[StoredPart, ...]:
    assert stored is not None
    return tuple(
        StoredPart(part.object, part.checksum, part.bytes, tuple(part.groups), part.whole)
        for part in stored.parts
    )


def _lost(task: Task) -> int:
    return task.parts.counters.missing + task.parts.counters.maybe_lost
