"""One task of a crew: the engine's own task, attention and switching, with a link and news from memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from heronpy.instances.control_events import EventInbox
from heronpy.instances.execution.memory_links import MemoryLink
from heronpy.instances.execution.turn import Turn
from heronpy.instances.progress import Progress
from heronpy.instances.saving.snapshot import SavingSettings
from heronpy.instances.saving.state import Saved, Saver
from heronpy.instances.task.build import build_task
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


class WaitingLink:
    """The link of a task that may wait inside emit(): the others go on while it does."""

    def __init__(self, link: MemoryLink, let_others_run: Callable[[], None]) -> None:
        self._link = link
        self._let_others_run = let_others_run
        self.send = link.send
        self.stopping = False

    def pump(self, timeout: float) -> None:
        if timeout:
            self._let_others_run()
        self._link.pump(0)


class Actor:
    """A task in one incarnation, called by the loop of its crew."""

    def __init__(
        self,
        crew: Crew,
        plan: PhysicalPlan,
        task_id: int,
        incarnation: int,
        *,
        waits: bool = False,
        saved: Saved | None = None,
        may_wait: bool = False,
    ) -> None:
        self.ready = False
        self.news = MemoryNews(crew.plan, crew.update, crew.next_plan)
        self._stored = threading.Event()
        self.link = crew.links.open(task_id)
        self.waiting = WaitingLink(self.link, lambda: crew.go_on_without(task_id))
        self.task = build_task(
            plan,
            task_id,
            incarnation,
            self.waiting if may_wait else self.link,
            crew.flow,
            crew.find,
            lambda: crew.now,
            crew.dice.randrange,
            keeping=SavingSettings(lambda: crew.shelf, "t/e", self._on_stored, saved),
            may_wait=may_wait,
        )
        self.link.handler = self.task.on_frame
        self.patience = self.task.patience
        component: Any = self.task.component
        component.ledger = crew.ledger
        assert self.task.saver is not None
        self._saver = self.task.saver
        self._attention = EventInbox(self.news)
        giver = PatientSaver(self._saver, self._stored)
        self._attention.listeners.append(
            Switching(self.task, plan, self.news, giver, lambda: crew.shelf, waits=waits)
        )
        self.task.parts.outbox.meanwhile = self._attention.peek

    def turn(self) -> Turn:
        if not self.ready:
            self.task.initialize()
            self.ready = True
            return Turn.MORE
        self._attention.look()
        return self.task.turn()

    @property
    def quiet(self) -> bool:
        parts = self.task.parts
        told = parts.tracker is None or not parts.tracker.pending
        return not self.link.arrived and not self.task.loop.has_input and parts.outbox.settling.idle and told

    def end(self) -> None:
        """As SIGTERM would."""
        self.waiting.stopping = True
        self._saver.close()

    def _on_stored(self, report: Stored, _: str) -> None:
        self.news.progress.handover = report
        self._stored.set()
