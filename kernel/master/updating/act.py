"""Carries out a change of plan: its writes to the state tree, in the order that makes it all or nothing."""

from __future__ import annotations

import logging
from collections.abc import Callable

import msgspec

from heronpy.kernel.errors import NodeMissing, PackingError, VersionConflict
from heronpy.kernel.master.fenced_node import Changed
from heronpy.kernel.master.master_state import MasterState
from heronpy.kernel.master.updating.decide import (
    Commit,
    Move,
    Prepare,
    Repack,
    Restart,
    Situation,
    Updating,
    Wait,
    Write,
)
from heronpy.kernel.plans import next_plan
from heronpy.kernel.trace_points import step
from heronpy.kernel.tree.registrations import reported
from heronpy.kernel.tree.requests import ask_for_restart, failed_request
from heronpy.kernel.tree.update import CLOSED, Update, UpdateFailure

log = logging.getLogger(__name__)

#: moves in one turn, so that other work is not kept waiting
MOVES_PER_TURN = 16


class UpdateAct:
    """One update after the other. The order of writes, and what a new master finds after a crash in between:

    next_plan, then prepare: a plan that no update refers to; it is written again.
    members of the run, then the plan in force: a run with members that are in no plan, without effect. The
        other way round a new task would look like a replaced one, and a restore would begin.
    handovers (load), then the plan in force: the old plan in force, so it is rolled back. The other way round
        the new one would be in force without its state.
    the plan in force, then release: the new plan in force, so it goes on with release.
    release, then the packing: retiring tasks live a little longer.
    the packing, then done: only the phase is left to be written.
    """

    def __init__(
        self,
        master_state: MasterState,
        on_plan: Callable[[], None],
        read_executors: Callable[[], None],
        now: float,
    ) -> None:
        self._master_state = master_state
        self._on_plan = on_plan
        self._read_executors = read_executors
        self._now = now
        self._deciding = Updating(master_state.incarnation, master_state.config["update.timeout"])
        #: requests to start a container again, by name
        self._asked: set[str] = set()
        self.waits_for: list[str] = []
        #: shown for an update that takes too long and cannot be rolled back any more
        self.trouble = ""

    def look(self, now: float, *, owed: bool = False) -> bool:
        """Go on as far as possible; True when an update has ended. `owed`: a checkpoint has to come first."""
        self._now = now
        self.trouble = ""
        for _ in range(MOVES_PER_TURN):
            update = self._master_state.updating
            if update is None:
                self.waits_for = []
                return True
            here, move = self._decide(now, owed=owed)
            if isinstance(move, Commit):
                # the plan must not be put in force with a task whose end has just been written
                self._read_executors()
                here, move = self._decide(now, owed=owed)
            if isinstance(move, Wait | Restart):
                self._wait(move)
                self.trouble = self._deciding.overdue(here, self.waits_for, now)
                return False
            self._do(move)
        return False

    def _decide(self, now: float, *, owed: bool) -> tuple[Situation, Move]:
        here = self._situation(owed=owed)
        return here, self._deciding.decide(here, self._master_state.lost(), now)

    def _wait(self, move: Wait | Restart) -> None:
        if isinstance(move, Wait):
            self.waits_for = move.for_whom
        else:
            self._restart(move.containers)

    def cancel(self, reason: str, now: float) -> None:
        """Roll the update back unless its plan is in force, in which case it goes on."""
        update, master_state = self._master_state.updating, self._master_state
        if update is None or update.phase not in ("prepare", "cut", "load"):
            return
        if master_state.plan.epoch >= update.epoch:
            return
        self._do(self._deciding.roll_back(update, reason, now))

    def _situation(self, *, owed: bool) -> Situation:
        master_state = self._master_state
        update = master_state.updating
        assert update is not None
        failure = reported(master_state.state, master_state.tree.update_failure, UpdateFailure)
        trouble = failure.reason if failure is not None and failure.epoch == update.epoch else ""
        return Situation(
            update,
            master_state.plan,
            master_state.coming,
            master_state.packing(),
            master_state.roster,
            master_state.node.run,
            trouble,
            owed,
            apart=master_state.execution.apart,
        )

    def _do(self, move: Write | Prepare | Commit | Repack) -> None:
        match move:
            case Write(update):
                self._write(update)
            case Prepare():
                self._prepare()
            case Commit():
                self._commit(move)
            case Repack():
                self._repack()

    def _write(self, update: Update) -> None:
        phase = update.phase
        step(f"update.{phase}.writing")
        self._master_state.update.write(update)
        step(f"update.{phase}")
        if phase in ("rollback", "rolled_back"):
            log.warning("update to plan %d: %s: %s", update.epoch, phase, update.reason)
        else:
            log.info(
                "update to plan %d: %s %s", update.epoch, phase, " ".join(update.cut) or _asked_for(update)
            )
        if phase in CLOSED:
            self._asked.clear()

    def _prepare(self) -> None:
        master_state, update = self._master_state, self._master_state.updating
        assert update is not None
        try:
            coming = next_plan(master_state.plan, update.packing, update.epoch)
        except PackingError as error:
            self._write(msgspec.structs.replace(update, phase="rolled_back", reason=str(error)))
            return
        master_state.roster.keep_only(master_state.plan)
        step("update.next_plan.writing")
        try:
            master_state.write_coming(coming)
        except VersionConflict as error:
            master_state.checkpoints.read()
            msg = "the next plan has changed"
            raise Changed(msg) from error
        step("update.next_plan.written")
        self._write(msgspec.structs.replace(update, phase="prepare"))
        # from now on beats of the new containers count
        self._on_plan()

    def _commit(self, move: Commit) -> None:
        master_state = self._master_state
        coming = master_state.coming
        assert coming is not None
        if master_state.has_runs:
            step("update.members.writing")
            master_state.checkpoints.write(
                msgspec.structs.replace(master_state.node, members=move.members, managers=move.managers)
            )
            step("update.members.written")
        step("update.committing")
        try:
            master_state.commit(coming)
        except Changed as error:
            self._on_plan()
            self.cancel(str(error), self._now)
            return
        step("update.committed")
        log.info("plan %d is in force", coming.epoch)
        self._on_plan()

    def _repack(self) -> None:
        update = self._master_state.updating
        assert update is not None
        step("update.packing.writing")
        try:
            self._master_state.write_packing(update.packing)
        except (VersionConflict, NodeMissing) as error:
            self._master_state.update.read()
            msg = "the packing has changed"
            raise Changed(msg) from error
        step("update.packing.written")

    def _restart(self, containers: list[int]) -> None:
        """Request each restart once, and again if it failed; new incarnations show that it is done."""
        master_state, update = self._master_state, self._master_state.updating
        assert update is not None
        for container in containers:
            name = f"update-{update.epoch}-{container}"
            if name in self._asked and not (
                error := failed_request(master_state.state, master_state.tree, name)
            ):
                continue
            if name in self._asked:
                log.error("container %d was not started again, asking once more: %s", container, error)
            step("update.restart.asking")
            ask_for_restart(master_state.state, master_state.tree, name, container)
            step("update.restart.asked")
            self._asked.add(name)
        self.waits_for = [f"container {container} to start again" for container in containers]


def _asked_for(update: Update) -> str:
    """What is to change, and the user who asked for it."""
    what = [f"{component}={count}" for component, count in update.wanted.items()]
    what += [f"restart of container {container}" for container in update.containers]
    return f"({', '.join(what) or update.kind}; asked for by {update.requested_by or 'an unnamed user'})"
