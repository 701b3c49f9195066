"""One task of a crew: the engine's own task, attention and switching, with a link and news from memory."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from support.tasks.crew.stage import Player

from heronpy.instances.control_events import EventInbox
from heronpy.instances.execution.one_task import OneTask
from heronpy.instances.output.outbox import Stopping
from heronpy.instances.progress import Progress
from heronpy.instances.saving.snapshot import SavingSettings
from heronpy.instances.saving.state import Saved, Saver
from heronpy.instances.task.build import Task, build_task
from heronpy.instances.task.switching import Switching
from heronpy.kernel.checkpoints.node import Checkpoints
from heronpy.kernel.plans import PhysicalPlan
from heronpy.kernel.protocol import Stored
from heronpy.kernel.tree.update import Update

if TYPE_CHECKING:
    from support.tasks.crew.crew import Crew


class MemoryNews:
    """What the control thread of an instance would have heard."""

    def __init__(self, plan: PhysicalPlan, update: Update | None, next_plan: PhysicalPlan | None) -> None:
        self.news = 0
        self.plan: PhysicalPlan | None = plan
        self.active = True
        self.checkpoints: Checkpoints | None = Checkpoints()
        self.update = update
        self.next_plan = next_plan
        self.progress = Progress()

    def tell(self) -> None:
        """The master of a crew looks by itself."""


class PatientSaver:
    """Does not leave before the object is stored, so that a run depends on its seed alone."""

    def __init__(self, saver: Saver, stored: threading.Event) -> None:
        self._saver = saver
        self._stored = stored

    def hand_over(
        self, epoch: int, run: int, groups: list[int], extras: Mapping[str, bytes], *, whole: bool = False
    ) -> None:
        self._stored.clear()
        self._saver.hand_over(epoch, run, groups, extras, whole=whole)

    def work(self) -> bool:
        more = self._saver.work()
        if not more:
            assert self._stored.wait(10), "nothing was stored"
        return more

    def abandon(self) -> None:
        self._saver.abandon()


class Actor:
    """A task in one incarnation."""

    def __init__(
        self,
        crew: Crew,
        plan: PhysicalPlan,
        task_id: int,
        incarnation: int,
        *,
        waits: bool = False,
        saved: Saved | None = None,
    ) -> None:
        self._crew = crew
        self.task_id = task_id
        self.stopping = False
        self.ready = False
        self.news = MemoryNews(crew.plan, crew.update, crew.next_plan)
        self._plan = plan
        self._incarnation = incarnation
        self._waits = waits
        self._saved = saved
        self.task: Task | None = None
        self._saver: Saver | None = None
        #: what has arrived and not been read: source → frames
        self.arriving: dict[int, list[tuple[bytes, bytes]]] = {}
        self.player = Player(self._play)

    def send(self, prefix: bytes, payload: bytes) -> None:
        self._crew.carry(prefix, payload)

    def pump(self, timeout: float) -> None:
        """Let others run, then read some of what has arrived, in order for each sender."""
        self.player.pause()
        assert self.task is not None
        dice = self._crew.dice
        for source in dice.sample(sorted(self.arriving), len(self.arriving)):
            frames = self.arriving[source]
            count = dice.randint(0, len(frames))
            read, self.arriving[source] = frames[:count], frames[count:]
            for prefix, payload in read:
                self.task.on_frame(prefix, payload)

    @property
    def quiet(self) -> bool:
        assert self.task is not None
        parts = self.task.parts
        told = parts.tracker is None or not parts.tracker.pending
        return not any(self.arriving.values()) and not self.task.loop.has_input and parts.outbox.idle and told

    def end(self) -> None:
        """As SIGTERM would."""
        self.stopping = True
        while not self.player.over:
            self.player.go_on()
        self.player.join()
        if self._saver is not None:
            self._saver.close()

    def _play(self) -> None:
        crew = self._crew
        stored = threading.Event()

        def on_stored(report: Stored, _: str) -> None:
            self.news.progress.handover = report
            stored.set()

        task = self.task = build_task(
            self._plan,
            self.task_id,
            self._incarnation,
            self,
            crew.flow,
            crew.find,
            lambda: crew.now,
            crew.dice.randrange,
            keeping=SavingSettings(lambda: crew.shelf, "t/e", on_stored, self._saved),
        )
        component: Any = task.component
        component.ledger = crew.ledger
        assert task.saver is not None
        saver = self._saver = task.saver
        attention = EventInbox(self.news)
        giver = PatientSaver(saver, stored)
        attention.listeners.append(
            Switching(task, self._plan, self.news, giver, lambda: crew.shelf, waits=self._waits)
        )
        task.parts.outbox.meanwhile = attention.peek
        task.initialize()
        self.ready = True
        try:
            while not self.stopping:
                attention.look()
                OneTask(task.loop, self).step()
        except Stopping:
            pass
