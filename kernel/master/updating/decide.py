"""The change of plan, phase by phase: what comes next, what it waits for, and when it is rolled back.

Decides; does no I/O and has no clock of its own. All that counts is in the node `update`, in the plan that is
in force and in the beats, so that another master goes on from there: back while the old plan is in force, and
forward once the new one is.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import msgspec

from heronpy.kernel.master.knowledge.roster import Roster, named, parts_of
from heronpy.kernel.plans import PackingPlan, PhysicalPlan, PlacedTask, affected, moves
from heronpy.kernel.state_transfer import held_of, objections
from heronpy.kernel.tree.update import Handover, Ledger, Phase, Update

#: seconds to wait for tasks that have not released the old plan yet; late ones do so by themselves
PATIENCE = 5.0
NO_STORE = "no checkpoint store in common: submit with --set checkpoint.path=… that all of them see"
NOT_SAVED = "no checkpoint has become complete since the last update"


class Wait(NamedTuple):
    """Nothing to do until these tasks have made progress."""

    for_whom: list[str]


class Write(NamedTuple):
    """Put this into the node."""

    update: Update


class Prepare(NamedTuple):
    """Write the next plan, and begin."""


class Commit(NamedTuple):
    """Put the next plan in force, with the incarnations of its tasks and of their Stream Managers."""

    members: dict[int, int]
    managers: dict[int, int]


class Repack(NamedTuple):
    """Write the packing: instances that are not in it end."""


class Restart(NamedTuple):
    """Have these containers started again."""

    containers: list[int]


Move = Wait | Write | Prepare | Commit | Repack | Restart


class Situation(msgspec.Struct, frozen=True, dict=True):
    """What is in the state tree and in the beats."""

    update: Update
    #: in force
    plan: PhysicalPlan
    #: what the update leads to, once that is written
    coming: PhysicalPlan | None
    packing: PackingPlan
    roster: Roster
    #: the current run; 0 where there are no runs
    run: int = 0
    #: why the scheduler process could not do its part
    trouble: str = ""
    #: whether a checkpoint must be complete before it may begin
    owed: bool = False
    #: whether the machines have no checkpoint store in common
    apart: bool = False

    @property
    def committed(self) -> bool:
        return self.plan.epoch >= self.update.epoch

    @cached_property
    def tasks(self) -> list[PlacedTask]:
        """Of both plans, each once."""
        coming = self.coming.tasks if self.coming is not None else ()
        return sorted(
            {task.id: task for task in (*self.plan.tasks, *coming)}.values(), key=lambda one: one.id
        )

    @cached_property
    def newcomers(self) -> set[int]:
        return {task.id for task in self.tasks if not self.plan.has(task.id)}

    @cached_property
    def by_container(self) -> dict[int, list[PlacedTask]]:
        """The tasks of both plans, lowest container first."""
        found: dict[int, list[PlacedTask]] = {}
        for task in sorted(self.tasks, key=lambda one: one.container):
            found.setdefault(task.container, []).append(task)
        return found

    @property
    def containers(self) -> list[int]:
        return list(self.by_container)

    def giving(self, component: str) -> list[PlacedTask]:
        """Tasks of a component that hand something over."""
        tasks = self.plan.tasks_of(component)
        if self.update.kind == "scale":
            return tasks
        return [task for task in tasks if task.container in self.update.containers]

    def to_cut(self) -> list[str]:
        """Components to cut off from their input, upstream ones first."""
        if self.coming is None:
            return []
        if self.update.kind == "scale":
            return affected(self.plan, self.coming)
        return [name for name in self.plan.logical.upstream_first() if self.giving(name)]


class Updating:
    """Decides the next move of the update that runs."""

    def __init__(self, own: int, timeout: float) -> None:
        #: incarnation of the master that this is part of
        self._own = own
        self._timeout = timeout
        self._at: tuple[int, Phase, int] = (0, "done", 0)
        self._since = 0.0
        #: incarnations first seen in this update, by task and by container
        self._tasks: dict[int, int] = {}
        self._managers: dict[int, int] = {}
        #: tuples that were known to be lost when it began
        self._lost_before: int | None = None
        self._phases: dict[Phase, Callable[[Situation, float], Move]] = {
            "proposed": self._proposed,
            "prepare": self._prepare,
            "cut": self._cut,
            "load": self._load,
            "release": self._release,
            "rollback": self._rollback,
        }

    def decide(self, here: Situation, lost: int, now: float) -> Move:
        """What to do next. `lost` is how many tuples are known to be lost by now."""
        self._note(here.update, now)
        if self._lost_before is None:
            self._lost_before = lost
        if not here.committed and here.update.phase in ("prepare", "cut", "load"):
            reason = self._failure(here) or self._late(here, now)
            if reason:
                return self.roll_back(here.update, reason, now)
        move = self._phases[here.update.phase](here, now)
        if isinstance(move, Write) and move.update.phase == "done":
            return Write(self._closed(move.update, here, lost))
        return move

    def roll_back(self, update: Update, reason: str, now: float) -> Write:
        return self._to("rollback", update, now, reason=reason)

    def _note(self, update: Update, now: float) -> None:
        at = update.epoch, update.phase, len(update.cut)
        if at == self._at:
            return
        if update.epoch != self._at[0]:
            self._tasks, self._managers, self._lost_before = {}, {}, None
        self._at, self._since = at, now

    def _to(self, phase: Phase, update: Update, now: float, **changed: object) -> Write:
        """The node of the next phase, with the time that this one took."""
        ledger = update.ledger or Ledger()
        spent = ledger.phases.get(update.phase, 0.0) + now - self._since
        ledger = msgspec.structs.replace(ledger, phases={**ledger.phases, update.phase: round(spent, 4)})
        return Write(msgspec.structs.replace(update, **{"phase": phase, "ledger": ledger, **changed}))

    def _failure(self, here: Situation) -> str:
        """Why it cannot go on, before the new plan is in force: the death or error of any process."""
        update = here.update
        if update.master != self._own:
            return "the topology master was started again"
        if here.coming is None:
            return "the next plan is not in the state tree"
        if here.trouble:
            return here.trouble
        for task in here.tasks:
            if reason := self._lost_task(here, task):
                return reason
        for container in here.containers:
            manager = here.roster.managers.get(container, 0)
            if not self._is_part(here, container):
                continue
            ended = manager and not here.roster.manager_is_there(container)
            if self._managers.setdefault(container, manager) != manager or ended:
                return here.roster.manager_fate(container)
        return ""

    def _is_part(self, here: Situation, container: int) -> bool:
        """Whether its processes belong to this update: those of an earlier container may still be ending."""
        return any(
            task.id not in here.newcomers or task.id in self._tasks for task in here.by_container[container]
        )

    def _lost_task(self, here: Situation, task: PlacedTask) -> str:
        beat, incarnation = here.roster.beat(task), here.roster.incarnation(task)
        awaited = task.id in here.newcomers and task.id not in self._tasks
        if not incarnation or (awaited and here.roster.is_of_before(task)):
            return ""
        if task.id not in here.newcomers or beat.next_epoch == here.update.epoch:
            self._tasks.setdefault(task.id, incarnation)
        if self._tasks.get(task.id, incarnation) != incarnation:
            return here.roster.fate(task)
        if not here.roster.is_there(task):
            return here.roster.doing(task)
        if beat.handover.id == here.update.epoch and beat.handover.error:
            return f"{task.label}: {beat.handover.error}"
        return ""

    def _late(self, here: Situation, now: float) -> str:
        limit = self._limit(here)
        if now - self._since <= limit:
            return ""
        move = self._phases[here.update.phase](here, now)
        if not isinstance(move, Wait):
            return ""
        return f"{here.update.phase} took longer than {limit:g} s, waiting for {named(move.for_whom)}"

    def overdue(self, here: Situation, waits_for: list[str], now: float) -> str:
        """What to report if an update that cannot be rolled back makes no progress; empty if it does."""
        waited = now - self._since
        if not here.committed or waited <= self._limit(here):
            return ""
        return (
            f"plan {here.update.epoch} is in force, and its update has waited for {waited:.0f} s"
            f" for {named(waits_for)}; no checkpoint is taken until it is over"
        )

    def _limit(self, here: Situation) -> float:
        return here.update.timeout or self._timeout

    def _proposed(self, here: Situation, now: float) -> Move:
        """Begins when all tasks run: a task that is missing now would delay every phase."""
        if here.committed:
            return self._to("rolled_back", here.update, now, reason="another plan was put in force meanwhile")
        idle = here.roster.idle(here.plan) or here.roster.behind(here.plan, here.run)
        if not idle and not here.owed:
            return Prepare()
        if now - self._since > self._limit(here):
            reason = f"not every process is running as planned: {named(idle)}" if idle else NOT_SAVED
            return self._to("rolled_back", here.update, now, reason=reason)
        return Wait(idle or ["a checkpoint since the last update"])

    def _prepare(self, here: Situation, now: float) -> Move:
        epoch = here.update.epoch
        late = [
            here.roster.doing(task)
            for task in here.tasks
            if here.roster.beat(task).next_epoch != epoch
            or here.roster.beat(task).run != here.run
            or (task.id in here.newcomers and here.roster.beat(task).state != "ready")
        ]
        late += [f"container {each}" for each in here.containers if not here.roster.manager_is_there(each)]
        if late:
            return Wait(late)
        components = here.to_cut()
        if not components:
            return self._to("load", here.update, now)
        return self._to("cut", here.update, now, cut=(components[0],))

    def _cut(self, here: Situation, now: float) -> Move:
        update, components = here.update, here.to_cut()
        late = [
            here.roster.doing(task)
            for name in update.cut
            for task in here.giving(name)
            if not self._has_given(here, task)
        ]
        if late:
            return Wait(late)
        if reason := self._refusal(here):
            return self.roll_back(update, reason, now)
        if len(update.cut) < len(components):
            cut = tuple(components[: len(update.cut) + 1])
            return Write(msgspec.structs.replace(update, cut=cut))
        handovers = tuple(
            Handover(task.id, parts_of(beat.handover), here.roster.incarnation(task))
            for name in components
            for task in here.giving(name)
            if (beat := here.roster.beat(task)).handover.parts or update.kind == "restart"
        )
        moving = self._to("load", update, now, handovers=handovers).update
        return Write(msgspec.structs.replace(moving, ledger=_moved(moving, here)))

    def _refusal(self, here: Situation) -> str:
        """Why kept state cannot move. The input is cut off, so the answer does not change any more."""
        for name in here.update.cut:
            for task in here.giving(name):
                if here.apart and here.roster.beat(task).handover.parts:
                    return f"{task.label} has state to hand over, and its machines have {NO_STORE}"
        kept = _not_going_along(here)
        return f"{'; '.join(kept)} (--yes updates anyway)" if kept and not here.update.accepts_loss else ""

    def _has_given(self, here: Situation, task: PlacedTask) -> bool:
        given = here.roster.beat(task).handover
        return (given.id, given.run) == (here.update.epoch, here.run)

    def _load(self, here: Situation, now: float) -> Move:
        if here.update.kind == "restart":
            return self._reload(here, now)
        if here.committed:
            return self._to_release(here, now)
        assert here.coming is not None
        late = self._not_loaded(here, here.coming.tasks)
        return Wait(late) if late else self._commit(here)

    def _reload(self, here: Situation, now: float) -> Move:
        """The containers end only when the plan is in force: the handovers are in the node by then, and
        nothing is left that only the old processes know."""
        if not here.committed:
            return self._commit(here)
        gave = {handover.task: handover.incarnation for handover in here.update.handovers}
        tasks = tuple(task for task in here.plan.tasks if task.id in gave)
        old = {task.container for task in tasks if 0 < here.roster.incarnation(task) <= gave[task.id]}
        if old:
            return Restart(sorted(old))
        late = self._not_loaded(here, tasks)
        return Wait(late) if late else self._to_release(here, now)

    def _not_loaded(self, here: Situation, tasks: tuple[PlacedTask, ...]) -> list[str]:
        beats = ((task, here.roster.beat(task)) for task in tasks)
        return [here.roster.doing(task) for task, beat in beats if beat.loaded_epoch != here.update.epoch]

    def _to_release(self, here: Situation, now: float) -> Write:
        members = here.roster.incarnations(here.plan.tasks)
        return self._to("release", here.update, now, members=members)

    def _commit(self, here: Situation) -> Commit:
        managers = {each: here.roster.managers[each] for each in here.containers}
        return Commit(here.roster.incarnations(here.tasks), managers)

    def _release(self, here: Situation, now: float) -> Move:
        """Only forward: a process that dies here is started again with the new plan."""
        if here.packing != here.update.packing:
            return Repack()
        late = [
            here.roster.doing(task)
            for task in here.plan.tasks
            if here.roster.beat(task).current_epoch < here.update.epoch or not here.roster.is_there(task)
        ]
        return Wait(late) if late else self._to("done", here.update, now)

    def _rollback(self, here: Situation, now: float) -> Move:
        late = [
            here.roster.doing(task)
            for task in here.plan.tasks
            if here.roster.is_there(task) and here.roster.beat(task).next_epoch == here.update.epoch
        ]
        if late and now - self._since < PATIENCE:
            return Wait(late)
        return self._to("rolled_back", here.update, now)

    def _closed(self, update: Update, here: Situation, lost: int) -> Update:
        beats = [here.roster.beat(task) for task in here.plan.tasks]
        held = [beat.held_seconds for beat in beats if beat.current_epoch == update.epoch]
        assert update.ledger is not None
        if update.kind == "restart":
            # all tasks that held rows back may be among the replaced ones
            phases = update.ledger.phases
            held.append(round(sum(phases.get(each, 0.0) for each in ("cut", "load", "release")), 4))
        ledger = msgspec.structs.replace(
            update.ledger, lost=lost - (self._lost_before or 0), pause_seconds=max(held, default=0.0)
        )
        return msgspec.structs.replace(update, ledger=ledger)


def _not_going_along(here: Situation) -> list[str]:
    """State that cannot move, by what the tasks held after they processed all input."""
    if here.update.kind == "restart" or here.coming is None:
        return []
    tasks = (task for name in here.update.cut for task in here.giving(name))
    held = {task.id: held_of(here.roster.beat(task).handover.held) for task in tasks}
    return objections(here.plan, here.coming, held)


def _moved(update: Update, here: Situation) -> Ledger:
    """Counted while the old plan is still known."""
    assert here.coming is not None
    assert update.ledger is not None
    moving = moves(here.plan, here.coming)
    return msgspec.structs.replace(
        update.ledger,
        groups_moved=sum(len(groups) for groups in moving.values()),
        groups=sum(len(here.plan.key_groups.get(name, ())) for name in update.cut),
        bytes_moved=sum(part.bytes for handover in update.handovers for part in handover.parts),
        given_up=tuple(_not_going_along(here)),
    )
