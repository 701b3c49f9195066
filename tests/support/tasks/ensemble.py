"""All tasks of a topology in one process: frames that wait on their way, a master played by the test."""

from __future__ import annotations

import random
import threading
import time
from collections import deque
from collections.abc import Iterable
from typing import Any

import msgspec

from heronpy.instances.control_events import Abandoned, EventInbox
from heronpy.instances.execution.one_task import OneTask
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
from heronpy.kernel.flow.frame import DATA, Prefix, unseal
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


class Killed(BaseException):
    """Thrown through whatever a task does when its process dies."""


class Place:
    """Where one task lives: its process as others see it, whatever task is in it.

    It has a thread, so that it can wait inside emit() while others go on; but only one of them ever runs.
    """

    def __init__(self, ensemble: Ensemble, task_id: int) -> None:
        self._ensemble = ensemble
        self.id = task_id
        self.incarnation = 1
        self.task: Task | None = None
        self.attention: EventInbox | None = None
        self.stopping = False
        # what the control thread would have heard
        self.news = 0
        self.plan: PhysicalPlan | None = ensemble.plan
        self.active = True
        self.checkpoints: Checkpoints | None = ensemble.node
        self.update: Update | None = None
        self.next_plan: PhysicalPlan | None = None
        self.progress = Progress()
        self.failure: BaseException | None = None
        self._killed = False
        self._go = threading.Semaphore(0)
        self._done = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._live, name=f"place {task_id}", daemon=True)
        self._thread.start()

    def step(self) -> None:
        """Let it run until it would wait."""
        self._go.release()
        self._done.acquire()
        if self.failure is not None:
            raise self.failure

    def end(self) -> None:
        self.stopping = self._killed = True
        self._go.release()
        self._thread.join(10)

    def _rest(self) -> None:
        self._done.release()
        self._go.acquire()
        if self._killed:
            self._killed = False
            raise Killed

    def _live(self) -> None:
        self._go.acquire()
        while not self.stopping:
            try:
                self._turn()
                self._rest()
            except Killed:
                self._die()
            except BaseException as error:
                self.failure = error
                self._done.release()
                return

    def tell(self) -> None:
        """The test looks at the progress itself."""

    def hear(self) -> None:
        """News reaches the process."""
        self.plan, self.checkpoints = self._ensemble.plan, self._ensemble.node
        self.news += 1

    def send(self, prefix: bytes, payload: bytes) -> None:
        self._ensemble.send(prefix, payload)

    def pump(self, timeout: float) -> None:
        self._ensemble.deliver_to(self)
        if timeout:
            self._rest()
            self._ensemble.deliver_to(self)

    def on_stored(self, stored: Stored, kind: Kind) -> None:
        setattr(self.progress, kind, stored)

    def build(self) -> None:
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
            plan, self.id, self.incarnation, self, ensemble.settings, ensemble.find,
            ensemble.clock, ensemble.dice.randrange, run=run, keeping=keeping,
        )  # fmt: skip
        assert self.task.saving is not None
        self.attention = EventInbox(self)
        self.attention.listeners += [LeaveForNextRun(run, self.id, self.incarnation), self.task.saving]
        self.task.parts.outbox.meanwhile = self.attention.peek
        self.task.initialize()
        self.progress.run = run

    def _turn(self) -> None:
        """Deliver, look, one turn; an abandoned task is built anew the next time."""
        self._ensemble.deliver_to(self)
        try:
            if self.task is None:
                self.build()
            else:
                assert self.attention is not None
                self.attention.look()
                OneTask(self.task.loop, self).step()
                self._wait_for_writer(self.task)
        except Abandoned:
            assert self.task is not None
            self.task.abandon()
            self.task = None

    def kill(self) -> None:
        """The process dies without a word, and its successor starts."""
        self._killed = True
        self.incarnation += 1
        self.progress = Progress()
        self.step()

    def _die(self) -> None:
        if self.task is not None and self.task.saver is not None:
            self.task.saver.abandon()
        self.task = None

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
        self._ways: dict[tuple[int, int], deque[tuple[bytes, bytes]]] = {}
        #: most tuples that ever were in the inbox of a task or set aside there
        self.most_queued = 0
        self.places = {task.id: Place(self, task.id) for task in plan.tasks}
        if has_runs(plan):
            self.begin_run()

    def clock(self) -> float:
        return self.now

    def send(self, prefix: bytes, payload: bytes) -> None:
        read: Prefix = unseal(prefix, payload)
        self._ways.setdefault((read.source, read.destination), deque()).append((prefix, payload))

    def lose_data(self) -> int:
        """A data frame vanishes on its way, if there is any; how many tuples it had."""
        for _, way in sorted(self._ways.items()):
            for frame in way:
                prefix = unseal(*frame)
                if prefix.kind == DATA:
                    way.remove(frame)
                    return prefix.tuples
        return 0

    def deliver_to(self, place: Place) -> None:
        """Some frames arrive, from some of those who have sent any; each way keeps its order."""
        ways = [way for (_, destination), way in sorted(self._ways.items()) if destination == place.id]
        for way in ways:
            for _ in range(self.dice.randint(0, len(way))):
                frame = way.popleft()
                if place.task is not None:
                    place.task.on_frame(*frame)
        if place.task is not None:
            self.most_queued = max(self.most_queued, place.task.parts.counters.queued)

    def round(self) -> None:
        self.now += 0.01
        for place in self._shuffled():
            if self.dice.random() < 0.7:
                place.hear()
            place.step()

    def _shuffled(self) -> list[Place]:
        order = list(self.places.values())
        self.dice.shuffle(order)
        return order

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
