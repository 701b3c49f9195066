"""Where tasks live in a test: what a process is to its task, with links and a store in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from heronpy.instances.control_events import Abandoned, EventInbox
from heronpy.instances.execution.memory_links import MemoryLinks
from heronpy.instances.execution.turn import Turn
from heronpy.instances.flow_settings import FlowSettings
from heronpy.instances.process.joining import Joining, entry_of
from heronpy.instances.progress import Progress
from heronpy.instances.saving.run_membership import LeaveForNextRun, origin_of, rows_are_unsent
from heronpy.instances.saving.snapshot import SavingSettings
from heronpy.instances.saving.state import load_checkpoint
from heronpy.instances.saving.state.state_saver import Kind
from heronpy.instances.task.build import ClassFinder, Task, build_task
from heronpy.instances.task.switching import Switching
from heronpy.kernel.checkpoints.node import Checkpoints
from heronpy.kernel.config import Config
from heronpy.kernel.errors import ObjectMissing
from heronpy.kernel.plans import PhysicalPlan
from heronpy.kernel.plugin.checkpoint_store import CheckpointStore
from heronpy.kernel.protocol import Stored
from heronpy.kernel.tree.update import Update
from heronpy.testing.clock import Clock

#: of the names of objects in the store
PREFIX = "test/1"


class StoreInMemory(CheckpointStore):
    """Objects in a dict."""

    def __init__(self) -> None:
        self._objects: dict[str, bytes] = {}

    def initialize(self, config: Config) -> None:
        """Nothing to connect to."""

    def write(self, name: str, chunks: Iterable[bytes]) -> None:
        self._objects[name] = b"".join(chunks)

    def read(self, name: str) -> bytes:
        if name not in self._objects:
            raise ObjectMissing(name)
        return self._objects[name]

    def names(self, prefix: str) -> list[str]:
        return sorted(name for name in self._objects if name.startswith(prefix))

    def delete(self, name: str) -> None:
        self._objects.pop(name, None)


class TestSurroundings(NamedTuple):
    """What all tasks of a test have in common."""

    find: ClassFinder
    flow: FlowSettings
    clock: Clock
    pick: Callable[[int], int]
    links: MemoryLinks
    store: StoreInMemory
    #: called, from any thread, when something has been stored
    on_stored: Callable[[], None]


class TaskPlace:
    """A process with one task, as the loop and the master see it. A task that dies is made anew here."""

    def __init__(self, around: TestSurroundings, task_id: int) -> None:
        self._around = around
        self.id = task_id
        self.incarnation = 1
        self.task: Task | None = None
        self._attention: EventInbox | None = None
        self.progress = Progress()
        self.failure: Exception | None = None
        # what the control thread of a process would have heard
        self.news = 0
        self.plan: PhysicalPlan | None = None
        self.active = True
        self.checkpoints: Checkpoints | None = None
        self.update: Update | None = None
        self.next_plan: PhysicalPlan | None = None
        self.link = around.links.open(task_id)
        self.link.handler = self._on_frame

    def hear(
        self, plan: PhysicalPlan, node: Checkpoints, update: Update | None, proposed: PhysicalPlan | None
    ) -> None:
        """What the master has written."""
        self.plan, self.checkpoints, self.update, self.next_plan = plan, node, update, proposed
        self.news += 1

    def tell(self) -> None:
        """The master looks at the progress by itself."""

    @property
    def ready(self) -> bool:
        """Whether there is a task, and it is initialized."""
        return self._attention is not None

    def turn(self) -> Turn:
        """One turn of the task; if there is none, it is made as soon as it may take part."""
        try:
            if self.task is None or self._attention is None:
                return self._join()
            self._attention.look()
            return self.task.turn()
        except Abandoned:
            self._abandon()
            return Turn.MORE
        except Exception as error:
            self.failure = error
            self._around.links.stopping = True
            return Turn.DONE

    def patience(self) -> float:
        return self.task.patience() if self.task is not None else 0.5

    def kill(self) -> None:
        """The process dies without a word, and its successor starts."""
        self.end()
        self.incarnation += 1
        self.progress = Progress()
        self.link = self._around.links.open(self.id)
        self.link.handler = self._on_frame

    def end(self) -> None:
        """Nothing of the task is sent or saved any more."""
        if self.task is not None and self.task.saver is not None:
            self.task.saver.abandon()
        self.task = self._attention = None

    def close(self) -> None:
        task, self.task = self.task, None
        if task is not None:
            task.component.close()
            if task.saver is not None:
                task.saver.close()

    def _abandon(self) -> None:
        task, self.task, self._attention = self.task, None, None
        if task is not None:
            task.abandon()

    def _join(self) -> Turn:
        entry = entry_of(self, self.id, self.incarnation)
        if entry is None:
            return Turn.DONE
        task = self.task = self._build(entry)
        assert task.saver is not None
        assert task.saving is not None
        attention = EventInbox(self)
        switching = Switching(
            task, entry.plan, self, task.saver, self._open_store, entry.run, waits=entry.waits
        )
        leaving = LeaveForNextRun(entry.run, self.id, self.incarnation)
        attention.listeners += [leaving, task.saving, switching]
        task.initialize()
        self._attention = attention
        self.progress.run = entry.run
        return Turn.MORE

    def _build(self, entry: Joining) -> Task:
        around, plan = self._around, entry.plan
        origin = None if entry.waits else origin_of(plan, entry.checkpoints)
        saved = load_checkpoint(around.store, origin, plan, self.id) if origin is not None else None
        rows = rows_are_unsent(plan, entry.checkpoints, first=self.incarnation == 1)
        keeping = SavingSettings(
            self._open_store, PREFIX, self._on_stored, saved, rows, exact=bool(entry.run)
        )
        return build_task(
            plan, self.id, self.incarnation, self.link, around.flow, around.find, around.clock.monotonic,
            around.pick, around.clock.time, run=entry.run, keeping=keeping, may_wait=False,
        )  # fmt: skip

    def _open_store(self) -> CheckpointStore:
        return self._around.store

    def _on_stored(self, stored: Stored, kind: Kind) -> None:
        setattr(self.progress, kind, stored)
        self._around.on_stored()

    def _on_frame(self, prefix: bytes, payload: bytes) -> None:
        if self.task is not None:
            self.task.on_frame(prefix, payload)
