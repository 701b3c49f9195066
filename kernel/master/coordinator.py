"""What a Topology Master does besides listening, one thing at a time: restores, updates, checkpoints."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable

from heronpy.kernel.checkpoints.node import Checkpoints
from heronpy.kernel.errors import StateError
from heronpy.kernel.logs.rate_limited import RateLimitedLog
from heronpy.kernel.master.background import BackgroundWorker
from heronpy.kernel.master.checkpointing.act import CheckpointAct
from heronpy.kernel.master.damaged_nodes.act import RebuildAct
from heronpy.kernel.master.fenced_node import Changed
from heronpy.kernel.master.finishing.act import FinishAct
from heronpy.kernel.master.master_state import MasterState
from heronpy.kernel.master.restoring.act import RestoreAct
from heronpy.kernel.master.updating.act import UpdateAct
from heronpy.kernel.status import CheckpointStatus, UpdateStatus
from heronpy.kernel.tree.update import Update

log = logging.getLogger(__name__)

#: a refused write is retried within this time, so after it no write is being refused
AGAIN_SECONDS = 3.0


class Coordinator:
    """A restore goes before an update, and an update before a checkpoint; what gives way is undone first."""

    def __init__(
        self,
        master_state: MasterState,
        background: BackgroundWorker,
        on_plan: Callable[[], None],
        read_executors: Callable[[], None],
        now: float,
    ) -> None:
        self._master_state = master_state
        self._complaints = RateLimitedLog(log)
        #: error of the last write that the state tree refused; empty after a while without one
        self._refused, self._refused_at, self._now = "", 0.0, now
        background.guard = self._guarded
        self._rebuild = RebuildAct(master_state, background)
        self._restore = RestoreAct(master_state, background, read_executors)
        self._update = UpdateAct(master_state, on_plan, read_executors, now)
        self._finish = FinishAct(master_state)
        self._checkpoint = CheckpointAct(master_state, background, self._finish, now)

    def refresh(self) -> None:
        """Nodes that commands write as well have changed."""
        self._master_state.reread_update()
        self._checkpoint.refresh()
        self._restore.refresh()

    def look(self, now: float) -> None:
        """Do what is due now; called at every beat, and at intervals without one."""
        self._now = now
        if self._refused and now - self._refused_at > AGAIN_SECONDS:
            log.info("the state tree takes writes again")
            self._refused = ""
        self._guarded(lambda: self._look(now))

    def _guarded(self, call: Callable[[], None]) -> None:
        """A write that loses a race is decided again from what is in the tree then."""
        try:
            call()
            return
        except Changed as changed:
            log.info("%s", changed)
        except StateError as error:
            self._complaints.warning("the state tree refuses: %s", error)
            self._refused, self._refused_at = str(error), self._now
            if self._master_state.unreadable is None:
                with contextlib.suppress(StateError):
                    self._master_state.checkpoints.read()
        # if it cannot be read either, the next write fails with a version conflict, and this is repeated
        with contextlib.suppress(StateError):
            self._master_state.reread_update()

    def _look(self, now: float) -> None:
        if self._master_state.unreadable is not None:
            self._rebuild.look(self._master_state.unreadable, now)
        elif because := self._restore.why():
            self._checkpoint.give_up(because)
            # in this order: a task that is told of the next run must not go on with the update in it
            self._update.cancel(because, now)
            self._restore.look(because, now)
        elif self._master_state.updating is not None:
            self._go_on_with_update(self._master_state.updating, now)
        else:
            self._checkpoint.look(now)
            self._finish.look()

    def _go_on_with_update(self, update: Update, now: float) -> None:
        checkpoint = self._checkpoint
        owed = update.phase == "proposed" and checkpoint.owed
        if update.phase == "proposed" and (owed or checkpoint.deciding.round is not None):
            checkpoint.look(now)
            current = checkpoint.deciding.round
            if current is not None:  # it ends by itself, or takes too long and is given up
                self._update.waits_for = [f"checkpoint {current.id}"]
                return
        checkpoint.give_up("an update has begun")
        if self._update.look(now, owed=owed):
            checkpoint.collect_garbage()

    @property
    def trouble(self) -> str:
        """Why the topology stands still, or why its state cannot be written; empty if neither."""
        return self._rebuild.trouble or self._restore.trouble or self._update.trouble or self._refused

    def checkpoint_status(self, now: float) -> CheckpointStatus:
        """`now` is of the same clock as for look()."""
        node, deciding = self._master_state.node, self._checkpoint.deciding
        current, newest = deciding.round, node.complete[-1] if node.complete else None
        roster = self._master_state.roster
        late = current.missing() if current is not None else []
        return CheckpointStatus(
            id=newest.id if newest is not None else 0,
            at=newest.at if newest is not None else 0.0,
            bytes=newest.bytes if newest is not None else 0,
            seconds=newest.seconds if newest is not None else 0.0,
            kept=len(node.complete),
            interval=deciding.interval,
            unchanged=deciding.unchanged(node, self._master_state.plan, roster),
            running=current.id if current is not None else 0,
            running_for=now - current.began if current is not None else 0.0,
            waits_for=tuple(roster.doing(task) for task in late),
            aborted=node.aborted if node.aborted_because else 0,
            aborted_because=node.aborted_because,
            run=node.run,
            restores=max(0, node.run - 1),
            restored_at=node.begun_at if node.run > 1 else 0.0,
            restored_because=node.because,
            undecided=self._restore.undecided,
            fell_back=_told(node),
            fell_back_at=node.went_back[-1].at if node.went_back else 0.0,
        )

    def update_status(self) -> UpdateStatus | None:
        update = self._master_state.updating
        if update is None:
            return None
        return UpdateStatus(
            epoch=update.epoch,
            kind=update.kind,
            phase=update.phase,
            wanted=update.wanted,
            containers=update.containers,
            requested_by=update.requested_by,
            requested_at=update.requested_at,
            cut=update.cut,
            waits_for=tuple(self._update.waits_for),
            reason=update.reason,
        )


def _told(node: Checkpoints) -> str:
    """The last restore that did not begin with the newest checkpoint; empty if there was none."""
    if not node.went_back:
        return ""
    last = node.went_back[-1]
    where = f"checkpoint {last.checkpoint}" if last.checkpoint else "the beginning"
    return f"went back to {where}: {last.because}"
