"""Effectively once: begins runs, each with the newest complete checkpoint that can be read."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from heronpy.kernel.checkpoints.decision import Decision
from heronpy.kernel.checkpoints.in_store import drop_manifests
from heronpy.kernel.checkpoints.manifest import read_manifest, read_part
from heronpy.kernel.checkpoints.node import WentBack
from heronpy.kernel.checkpoints.stored import CheckpointRef
from heronpy.kernel.errors import CheckpointDamaged
from heronpy.kernel.master.background import BackgroundWorker
from heronpy.kernel.master.master_state import MasterState
from heronpy.kernel.master.restoring.decide import NextRun, Restoring
from heronpy.kernel.plugin.checkpoint_store import CheckpointStore
from heronpy.kernel.trace_points import step
from heronpy.kernel.tree.registrations import reported

log = logging.getLogger(__name__)

#: how soon a store that had nothing readable is asked again
AGAIN = 5.0

#: how many times that the topology went back are kept in the state tree
KEPT = 5


class RestorePoint(NamedTuple):
    """A checkpoint that can be read, if any, and why better ones cannot."""

    base: CheckpointRef | None
    damaged: dict[int, str]

    def damages(self) -> str:
        return "; ".join(f"checkpoint {which}: {why}" for which, why in self.damaged.items())


class RestoreAct:
    """At most one restore at a time, and before anything else."""

    def __init__(
        self, master_state: MasterState, background: BackgroundWorker, read_executors: Callable[[], None]
    ) -> None:
        self._master_state = master_state
        self._background = background
        self._read_executors = read_executors
        self._because = ""
        self._deciding = Restoring()
        self._looking = False
        self._not_before = 0.0
        #: why no run begins although all tasks are there
        self.trouble = ""
        #: … where only a person can choose the checkpoint
        self.undecided = ""
        self._decision: Decision | None = None

    def refresh(self) -> None:
        """A person may have chosen a checkpoint."""
        before = self._decision
        self._decision = reported(self._master_state.state, self._master_state.tree.restore, Decision)
        if self._decision not in (before, None):
            self._not_before = 0.0

    def why(self) -> str:
        """Why another run must begin; empty if the present one goes on."""
        master_state = self._master_state
        if not master_state.has_runs:
            return ""
        self._deciding.watch(master_state.node, master_state.plan, master_state.roster)
        because = self._deciding.why(master_state.node, master_state.plan, master_state.roster)
        if because and because != self._because:
            # An executor has written which process ended, but the watch may not have fired yet.
            self._read_executors()
            because = self._deciding.why(master_state.node, master_state.plan, master_state.roster)
        self._because = because
        return because

    def waits_for(self) -> list[str]:
        return self._master_state.roster.absent(self._master_state.plan)

    def look(self, because: str, now: float) -> None:
        """Begin a run as soon as all tasks are there."""
        master_state = self._master_state
        if self._looking or now < self._not_before:
            return
        following = self._deciding.next_run(
            master_state.node, master_state.plan, master_state.roster, because
        )
        if following is None:
            return
        self._looking = True
        step("restore.everybody_there")
        self._background.run(
            lambda: _readable(master_state.store, following, self._decided()),
            lambda outcome: self._found(following, outcome, now),
        )

    def _found(self, following: NextRun, outcome: RestorePoint | Exception, now: float) -> None:
        self._looking = False
        if isinstance(outcome, Exception):
            self._stand_still(f"the checkpoint store cannot be read: {outcome}", now)
            return
        for checkpoint, why in outcome.damaged.items():
            log.error("checkpoint %d cannot be restored: %s", checkpoint, why)
        if following.bases and outcome.base is None:
            # Beginning without a checkpoint would repeat everything: that is for a person to decide.
            self._stand_still(f"no checkpoint can be read: {next(iter(outcome.damaged.values()))}", now)
            return
        repeated = following.committed_after(outcome.base) if outcome.damaged else 0
        if repeated and outcome.base is not None and outcome.base.id != self._decided():
            self._leave_to_a_person(outcome, outcome.base, repeated, now)
            return
        master_state = self._master_state
        if (
            self._deciding.next_run(
                master_state.node, master_state.plan, master_state.roster, following.because
            )
            != following
        ):
            return  # a process has ended or started meanwhile
        self._looking = True
        newest = max((ref.id for ref in following.bases), default=0)
        self._background.run(
            lambda: drop_manifests(
                master_state.store(), master_state.prefix, after=newest, also=frozenset(outcome.damaged)
            ),
            lambda dropped: self._cleared(following, outcome, dropped, now),
        )

    def _cleared(
        self, following: NextRun, found: RestorePoint, dropped: Exception | None, now: float
    ) -> None:
        """The store has no manifests any more of checkpoints that do not count in the next run."""
        self._looking = False
        if isinstance(dropped, Exception):
            self._stand_still(f"the checkpoint store cannot be written: {dropped}", now)
            return
        master_state = self._master_state
        if (
            self._deciding.next_run(
                master_state.node, master_state.plan, master_state.roster, following.because
            )
            != following
        ):
            return
        self.trouble = self.undecided = ""
        self._begin(following, found)
        if self._decision is not None:
            master_state.state.delete(master_state.tree.restore)
            self._decision = None

    def _decided(self) -> int:
        """The checkpoint that a person has chosen; 0 for none, or where there is nothing to choose."""
        return self._decision.checkpoint if self._decision is not None and self.undecided else 0

    def _leave_to_a_person(self, found: RestorePoint, base: CheckpointRef, repeated: int, now: float) -> None:
        """Committed transactions are never repeated, unless a person accepts it."""
        name = self._master_state.plan.topology
        many = f"{repeated} transaction{'s' if repeated != 1 else ''} that {'are' if repeated != 1 else 'is'}"
        why = (
            f"the newest checkpoint cannot be read ({found.damages()}), and to go back to checkpoint"
            f" {base.id} would repeat {many} committed: put the damaged objects back, or"
            f" heronpy checkpoints {name} --restore {base.id} --accept-repeats"
        )
        self._stand_still(why, now)
        self.undecided = why

    def _begin(self, following: NextRun, found: RestorePoint) -> None:
        node = self._master_state.node
        went_back = node.went_back
        if found.damaged:
            repeated = following.committed_after(found.base)
            accepted = (
                f"; {repeated} committed transactions are repeated, as was accepted" if repeated else ""
            )
            number = found.base.id if found.base is not None else 0
            told = WentBack(number, following.run, time.time(), f"{found.damages()}{accepted}")
            went_back = (*went_back, told)[-KEPT:]
        step("restore.run.writing")
        self._master_state.checkpoints.write(
            msgspec.structs.replace(
                node,
                run=following.run,
                epoch=self._master_state.plan.epoch,
                base=found.base,
                because=following.because if node.run else "",
                begun_at=time.time(),
                members=following.members,
                managers=following.managers,
                # parts of a checkpoint that are still in flight belong to an earlier run
                aborted=node.started,
                complete=tuple(ref for ref in node.complete if ref.id not in found.damaged),
                went_back=went_back,
            )
        )
        step("restore.run.written")
        source = f"checkpoint {found.base.id}" if found.base is not None else "the beginning"
        log.info("run %d begins from %s: %s", following.run, source, following.because)

    def _stand_still(self, why: str, now: float) -> None:
        if why != self.trouble:
            log.error("the topology cannot go on: %s", why)
        self.trouble, self._not_before = why, now + AGAIN


def _readable(open_store: Callable[[], CheckpointStore], following: NextRun, decided: int) -> RestorePoint:
    """`decided` is the newest checkpoint that a person allows; 0 for no limit."""
    damaged: dict[int, str] = {}
    for ref in following.bases:
        if decided and ref.id > decided:
            damaged[ref.id] = f"given up for checkpoint {decided}, as was decided"
            continue
        try:
            store = open_store()
            manifest = read_manifest(store, ref)
            if following.suspicious:
                for part in manifest.parts().values():
                    read_part(store, part)
        except CheckpointDamaged as error:
            damaged[ref.id] = str(error)
        else:
            return RestorePoint(ref, damaged)
    return RestorePoint(None, damaged)
