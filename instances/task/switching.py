"""A change of plan as one task goes through it: cut, hand over, load, switch; or let go of it.

The order of the steps guarantees that a key group moves only when no tuple of the old plan is left that could
change it. Switching the routing as soon as the next plan arrives would fail, because tasks learn of it at
different times: the new owner would process a tuple while the old one still has earlier tuples of that key
queued, and the state that moved would lack their changes. So an emitter sends a marker behind the last row
of the old plan and holds later rows back; a task hands its groups over only after the markers of all its
emitters and after all that it emitted has been consumed; the held rows are routed by the new plan.

Until the new plan is in force the task keeps its state: a group that was handed over is dropped only in
`_finish`, so a rollback (`_let_go`) reads nothing back from the store.
"""

from __future__ import annotations

import enum
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Protocol

from heronpy.instances.acking.awaiting import AWAITED
from heronpy.instances.control_events import Abandoned
from heronpy.instances.saving.sink_transactions import TRANSACTIONS
from heronpy.instances.saving.snapshot import encoded_notes
from heronpy.instances.saving.state import Saved, load_handovers
from heronpy.instances.saving.state.saved_watermarks import WATERMARKS, encode_watermarks
from heronpy.instances.saving.task_end import ENDED
from heronpy.instances.task.bolt_task import BoltTask
from heronpy.instances.task.spout_task import SpoutTask
from heronpy.kernel.plans import PhysicalPlan, affected, moves
from heronpy.kernel.plugin.checkpoint_store import CheckpointStore
from heronpy.kernel.protocol import Stored
from heronpy.kernel.trace_points import step
from heronpy.kernel.tree.update import Update
from heronpy.state import StatefulComponent

if TYPE_CHECKING:
    from heronpy.instances.control_events import ControlEvents, Reporter
    from heronpy.instances.task.build import Task

log = logging.getLogger(__name__)

#: before the commit, or right behind it: all tasks hold the next plan and none works by it
_AHEAD = ("prepare", "cut", "load")
#: the next plan is in force
_OVER = ("release", "done")


class Giver(Protocol):
    """Writes the state that a task gives away into the checkpoint store."""

    def hand_over(
        self, epoch: int, run: int, groups: list[int], extras: Mapping[str, bytes], *, whole: bool = False
    ) -> None: ...

    def work(self) -> bool: ...

    def abandon(self) -> None: ...


class Stage(enum.Enum):
    """How far the task is with its handover."""

    NONE = 0
    #: all its input has been processed: it may emit and ack what it still holds
    DRAIN = 1
    #: it waits until all that it emitted has been consumed
    SETTLE = 2
    GIVEN = 3


class Switching:
    """Takes one task through updates.

    Notices are levels, not steps: any phase may be seen next, whatever was missed. All that hear() does is
    safe while the user's code waits in emit(); all that touches the user's code or state is left to act().
    """

    def __init__(
        self,
        task: Task,
        plan: PhysicalPlan,
        report: Reporter,
        giver: Giver,
        open_store: Callable[[], CheckpointStore],
        run: int = 0,
        *,
        waits: bool = False,
    ) -> None:
        self._task = task
        self._parts = task.parts
        self._id = task.parts.context.get_task_id()
        self._component = task.parts.context.get_component_id()
        #: the plan that the task works by
        self._plan = plan
        self._report = report
        self._giver = giver
        self._open_store = open_store
        self._run = run
        #: whether the plan is still to come into force: the task is new in it
        self.waits = waits
        if waits:
            self._rest()
            self._parts.outbox.hold()
        #: the plan in force as last heard: another one for as long as the task waits
        self._heard: PhysicalPlan | None = None
        self._next: PhysicalPlan | None = None
        self._update: Update | None = None
        self._cut: set[str] = set()
        self._stage = Stage.NONE
        self._aside: Saved | None = None
        self._loads = False
        #: the plan before, until the user's code knows of the one that is in force
        self._before: PhysicalPlan | None = None
        progress = report.progress
        progress.next_epoch = plan.epoch if waits else 0
        progress.loaded_epoch, progress.handover = 0, None
        progress.current_epoch = 0 if waits else plan.epoch
        #: whether the task is in no plan any more: it waits for its end
        self.retired = False
        task.exchange.on_later_plan = self._on_later_plan
        task.loop.on_mark = self._on_mark

    def hear(self, news: ControlEvents) -> None:
        """The node `update` or one of the plans has changed."""
        update, plan, proposed = news.update, news.plan, news.next_plan
        self._heard = plan
        if plan is None or self.retired:
            return
        if proposed is not None and (update is None or proposed.epoch != update.epoch):
            proposed = None  # of an update that is over
        self._update = update
        if self.waits and _is_off(self._plan, update, plan):
            raise Abandoned  # the next plan may include this task as well: it has to start from scratch
        if self._next is not None and _is_off(self._next, update, plan):
            self._let_go()
        if update is not None and update.phase in _OVER and proposed is not None:
            self._use(proposed)
        elif update is None or update.phase not in _AHEAD or update.epoch != plan.epoch:
            self._use(plan)
        if update is not None and update.phase in _AHEAD and proposed is not None:
            self._go_along(update, proposed)

    def act(self) -> None:
        """Between two calls of the user's code."""
        if self._before is not None:
            self._finish(self._before)
        if self._stage in (Stage.DRAIN, Stage.SETTLE):
            self._give()
        if self._loads:
            self._load()

    def _on_mark(self, epoch: int) -> None:
        """All input that was routed by the plan in force has been processed."""
        if self._next is not None and self._next.epoch == epoch and self._stage is Stage.NONE:
            self._rest()
            self._stage = Stage.DRAIN

    def _on_later_plan(self, epoch: int) -> None:
        """Data that was routed by the next plan proves that it is in force."""
        if self._next is not None and self._next.epoch == epoch:
            self._use(self._next)

    def _go_along(self, update: Update, proposed: PhysicalPlan) -> None:
        if self.retired or (proposed.epoch <= self._plan.epoch and not self.waits):
            return
        if not self.waits:
            if self._next is None:
                self._prepare(update, proposed)
            for component in update.cut:
                if component not in self._cut:
                    self._cut.add(component)
                    self._cut_off(component, update)
        restarts = update.kind == "restart"
        if update.phase != "load" or self._report.progress.loaded_epoch == update.epoch:
            return
        if not (restarts and self._stage is Stage.GIVEN):  # else its successor reports that
            # A task that receives no state reports at once: it may be waiting in emit() for this very update.
            self._loads = bool(self._taken(proposed) or self._orphans(proposed))
            if not self._loads:
                self._report_loaded(update)

    def _prepare(self, update: Update, proposed: PhysicalPlan) -> None:
        self._next = proposed
        known = {task.id for task in self._plan.tasks}
        fed = {consumer.name for consumer in proposed.logical.components if self._feeds(consumer.name)}
        new = [task.id for task in proposed.tasks if task.component in fed and task.id not in known]
        self._parts.inflow.prepare(proposed)
        self._parts.inflow.expect_successors(
            task.id for task in proposed.tasks if task.container in update.containers
        )
        self._parts.outbox.prepare(proposed, new)
        self._parts.outbox.held_seconds = 0.0
        self._report.progress.next_epoch = proposed.epoch
        self._tell("update.prepared")

    def _feeds(self, component: str) -> bool:
        return any(
            edge.component == self._component for edge in self._plan.logical.component(component).inputs
        )

    def _cut_off(self, component: str, update: Update) -> None:
        concerned = [
            task.id
            for task in self._plan.tasks_of(component)
            if update.kind == "scale" or task.container in update.containers
        ]
        if self._feeds(component):
            if update.kind == "restart":
                self._parts.outbox.expect_successors(concerned)
            self._parts.outbox.cut(concerned, update.epoch)
            step("update.cut.marked")
        if self._id not in concerned:
            return
        if self._plan.upstream_of(component):
            self._parts.inflow.await_markers(update.epoch)
        else:
            self._rest()
            self._stage = Stage.DRAIN

    def _give(self) -> None:
        if self._stage is Stage.DRAIN:
            drain = getattr(self._task.component, "drain", None)
            if drain is not None:
                drain()
                step("update.drained")
            # drain() may have waited in emit(), and the update may have been rolled back meanwhile.
            if self._stage is Stage.DRAIN:
                self._stage = Stage.SETTLE
        update, proposed = self._update, self._next
        if self._stage is not Stage.SETTLE or update is None or proposed is None:
            return
        restarts = update.kind == "restart"
        if self._task.end.reached and not restarts:
            # Its results have been emitted: another owner of its keys would emit them again.
            self._refuse(proposed, "its input has ended, so there is nothing left to scale")
            return
        groups = self._given(proposed, restarts=restarts)
        stays = not restarts and proposed.has(self._id)
        if stays and not groups:
            self._stage = Stage.GIVEN
            self._pre_save(proposed)
            held = self._parts.state.held()
            self._report.progress.handover = Stored(id=proposed.epoch, run=self._run, held=held)
            self._tell("update.handover.empty")
        elif self._settled():
            self._stage = Stage.GIVEN
            self._pre_save(proposed)
            words = self._last_words(stays) | self._worked(groups)
            self._giver.hand_over(proposed.epoch, self._run, groups, words, whole=restarts)
            while self._giver.work():  # nothing comes in, so there is nothing better to do
                pass

    def _refuse(self, proposed: PhysicalPlan, reason: str) -> None:
        """The update is rolled back for this reason."""
        self._stage = Stage.GIVEN
        self._report.progress.handover = Stored(id=proposed.epoch, run=self._run, error=reason)
        self._report.tell()

    def _pre_save(self, proposed: PhysicalPlan) -> None:
        """Lets a component put into its state what it keeps outside of it until a save."""
        if isinstance(self._task.component, StatefulComponent):
            self._task.component.pre_save(f"update-{proposed.epoch}")

    def _given(self, proposed: PhysicalPlan, *, restarts: bool) -> list[int]:
        if restarts:
            return self._parts.state.owned()
        moved = moves(self._plan, proposed).get(self._component, {})
        return [group for group, (owner, _) in moved.items() if owner == self._id]

    def _last_words(self, stays: bool) -> dict[str, bytes]:
        """What a task that ends leaves besides its state: transactions, ids to ack, its successor's notes."""
        transactions, awaiting = self._task.transactions, self._parts.awaiting
        words: dict[str, bytes] = {}
        if stays:
            return words
        if transactions is not None:
            words[TRANSACTIONS] = transactions.hand_over()
            if self._parts.acks is not None:
                self._parts.acks.flush()
        if awaiting is not None:
            words[AWAITED] = awaiting.hand_over()
        if self._task.end.reached:
            words[ENDED] = b"1"
        words |= encoded_notes(self._task.component)
        return {name: said for name, said in words.items() if said}

    def _worked(self, groups: Iterable[int]) -> dict[str, bytes]:
        """How far the groups that are given away have been worked in event time."""
        worked = self._parts.input_time.saved()
        given = {group: worked[group] for group in groups if group in worked}
        return {WATERMARKS: encode_watermarks(given)} if given else {}

    def _settled(self) -> bool:
        """Whether all that was emitted has been consumed.

        Required also when the task stays: tuples emitted by the next owner of a key must not overtake these.
        """
        parts = self._parts
        if parts.acks is not None:
            parts.acks.flush()
        tracker = parts.tracker
        over = tracker is None or not (tracker.pending or tracker.acked or tracker.failed)
        return parts.outbox.settling.idle and over

    def _load(self) -> None:
        self._loads = False
        update, proposed = self._update, self._plan if self.waits else self._next
        if update is None or proposed is None or update.epoch != proposed.epoch:
            return
        try:
            self._aside = self._read(update, proposed)
        except Exception as error:  # of the store, a plugin, or of the user's own pickles
            log.exception("cannot load the handed-over state")
            failed = Stored(id=update.epoch, run=self._run, error=f"not loaded: {error}")
            self._report.progress.handover = failed
            self._report.tell()
        else:
            self._report_loaded(update)

    @property
    def _in_force(self) -> PhysicalPlan:
        plan = self._heard if self.waits else self._plan
        assert plan is not None
        return plan

    def _orphans(self, proposed: PhysicalPlan) -> list[int]:
        """Tasks that end and leave what belongs to no group to this task, the lowest of the component."""
        lowest = proposed.tasks_of(self._component)[0]
        inherits = self._task.transactions is not None or self._parts.awaiting is not None
        if not inherits or self._id != lowest.id:
            return []
        return [task.id for task in self._in_force.tasks_of(self._component) if not proposed.has(task.id)]

    def _taken(self, proposed: PhysicalPlan) -> dict[int, int]:
        """Group → the task that hands it over to this one."""
        moved = moves(self._in_force, proposed).get(self._component, {})
        return {group: giver for group, (giver, taker) in moved.items() if taker == self._id}

    def _report_loaded(self, update: Update) -> None:
        self._report.progress.loaded_epoch = update.epoch
        self._tell("update.loaded")

    def _read(self, update: Update, proposed: PhysicalPlan) -> Saved:
        groups, orphans = self._taken(proposed), self._orphans(proposed)
        store = self._open_store()
        try:
            saved = load_handovers(store, update.handovers, groups, orphans, task_id=self._id)
            saved.opened()  # decoding takes long: done here, before the switch
            return saved
        finally:
            store.close()

    def _use(self, plan: PhysicalPlan) -> None:
        """A plan is in force: send and receive by it from now on."""
        if self.waits and plan.epoch >= self._plan.epoch:
            self.waits = False
            self._before = self._plan
            self._parts.outbox.release()
            self._parts.outbox.held_seconds = 0.0  # there was nothing to hold
        if plan.epoch <= self._plan.epoch:
            return
        if not plan.has(self._id):
            self._retire(plan)
            return
        before, self._plan = self._plan, plan
        self._before = self._before or before
        self._next = None
        self._cut.clear()
        parts = self._parts
        parts.context.plan = plan
        parts.sender.epoch = plan.epoch
        parts.outbox.use_plan(plan)
        parts.collector.use_plan(before, plan, affected(before, plan))
        parts.inflow.use_plan(plan)
        parts.input_time.use_plan(plan)
        step("update.routed")

    def _retire(self, plan: PhysicalPlan) -> None:
        self._rest()
        self.retired = True
        self._stage = Stage.NONE
        self._report.progress.current_epoch = plan.epoch
        self._tell("update.retired")

    def _finish(self, before: PhysicalPlan) -> None:
        """The user's code and state follow the plan in force."""
        self._before = None
        plan, state, progress = self._plan, self._parts.state, self._report.progress
        moved = moves(before, plan).get(self._component, {})
        state.use_plan(plan)
        came: Mapping[int, int] = {}
        if self._aside is not None:
            state.restore(self._aside)
            self._adopt(self._aside.extras)
            came = self._aside.watermarks
            self._aside = None
        state.drop([group for group, (owner, _) in moved.items() if owner == self._id])
        self._stage, self._loads = Stage.NONE, False
        self._task.loop.resting = False
        progress.current_epoch, progress.next_epoch = plan.epoch, 0
        progress.held_seconds = self._parts.outbox.held_seconds
        self._tell("update.switched")
        if isinstance(self._task.loop, SpoutTask):
            if any(taker == self._id for _, taker in moved.values()):
                self._task.loop.on_new_splits()
        else:
            self._task.end.look()
        if isinstance(self._task.loop, BoltTask):
            self._task.loop.timing.finish()  # by the state as it was
        changed = getattr(self._task.component, "on_plan_change", None)
        if changed is not None:
            changed(self._parts.context)
        is_anew = before is plan or self._component in affected(before, plan)
        if is_anew and isinstance(self._task.loop, BoltTask):
            self._task.loop.timing.begin_anew(came)

    def _adopt(self, left: Iterable[Mapping[str, bytes]]) -> None:
        """Take over what retired tasks have left: transactions, ids to ack."""
        if self._task.transactions is not None:
            self._task.transactions.adopt(left)
        if self._parts.awaiting is not None:
            for words in left:
                if AWAITED in words:
                    self._parts.awaiting.adopt(words[AWAITED], self._parts.clock())

    def _let_go(self) -> None:
        """The update was rolled back: go on by the plan in force."""
        if self._stage is Stage.GIVEN:
            self._giver.abandon()
        self._next, self._aside, self._stage, self._loads = None, None, Stage.NONE, False
        self._cut.clear()
        self._parts.outbox.forget()
        self._parts.inflow.forget()
        self._task.loop.resting = False
        progress = self._report.progress
        progress.next_epoch, progress.loaded_epoch, progress.handover = 0, 0, None
        self._tell("update.let_go")

    def _rest(self) -> None:
        self._task.loop.resting = True

    def _tell(self, name: str) -> None:
        step(name)
        self._report.tell()


def _is_off(proposed: PhysicalPlan, update: Update | None, plan: PhysicalPlan) -> bool:
    """Whether a proposed plan has been rolled back or superseded."""
    if plan.epoch >= proposed.epoch or update is None:
        return False
    return update.epoch != proposed.epoch or update.phase in ("rollback", "rolled_back")
