"""Takes checkpoints: begins them in the state tree, writes their manifests, clears away old ones."""

from __future__ import annotations

import logging
import time

import msgspec

from heronpy.kernel.checkpoints.collection import collect
from heronpy.kernel.checkpoints.demand import answer_demand, pending_demands
from heronpy.kernel.checkpoints.interval import checkpoint_interval
from heronpy.kernel.checkpoints.manifest import Manifest, SavedTask, read_manifest, write_manifest
from heronpy.kernel.checkpoints.stored import CheckpointRef
from heronpy.kernel.errors import HeronError
from heronpy.kernel.master.background import BackgroundWorker
from heronpy.kernel.master.checkpointing.decide import Checkpointing, Round
from heronpy.kernel.master.damaged_nodes.decide import FIRST_EPOCH
from heronpy.kernel.master.finishing.act import FinishAct
from heronpy.kernel.master.master_state import MasterState
from heronpy.kernel.trace_points import step
from heronpy.kernel.tree.live_node import in_effect
from heronpy.kernel.tree.update import CLOSED

log = logging.getLogger(__name__)


class CheckpointAct:
    """One checkpoint after the other."""

    def __init__(
        self, master_state: MasterState, background: BackgroundWorker, finish: FinishAct, now: float
    ) -> None:
        self._master_state = master_state
        self._background = background
        self._finish = finish
        self.deciding = Checkpointing(self._interval(), master_state.config["checkpoint.timeout"], now)
        self._writing = False
        #: demands that the running checkpoint answers: they were there when it began
        self._demands: list[str] = []
        #: manifests of the kept checkpoints, so that each is read once
        self._manifests: dict[CheckpointRef, Manifest] = {}

    def look(self, now: float) -> None:
        """Go on with the checkpoint that runs, or begin one if it is due."""
        deciding, master_state = self.deciding, self._master_state
        if deciding.round is None:
            if not self._writing:
                self._begin_if_due(now)
            return
        if self._writing or self._is_complete(deciding.round):
            return
        deciding.collect(master_state.roster)
        if deciding.round.complete:
            self._write(deciding.round, now)
        elif reason := deciding.why_give_up(master_state.roster, now):
            self.give_up(reason)

    @property
    def owed(self) -> bool:
        """Whether a checkpoint of the plan in force must be complete before the next update.

        At effectively once, tasks take over open transactions of retired tasks with the next checkpoint. A
        second update before it would hand over what has not been taken over yet.
        """
        node, plan = self._master_state.node, self._master_state.plan
        saved_by = node.complete[-1].epoch if node.complete else FIRST_EPOCH
        return self._master_state.has_runs and saved_by < plan.epoch

    def refresh(self) -> None:
        """Read demands and the interval again: a command may have changed either."""
        asked = pending_demands(self._master_state.state, self._master_state.plan.topology)
        self.deciding.demanded = any(path not in self._demands for path in asked)
        self.deciding.interval = self._interval()

    def _interval(self) -> float:
        """As configured now; it can change while the topology runs."""
        master_state = self._master_state
        return checkpoint_interval(
            in_effect(master_state.plan.logical, master_state.live()), master_state.config
        )

    def give_up(self, reason: str) -> None:
        """Abort the checkpoint that runs, if any: tasks store nothing more for it."""
        current = self.deciding.round
        if current is None or self._is_complete(current):
            return
        log.warning("checkpoint %d was given up: %s", current.id, reason)
        step("checkpoint.giving_up")
        node = msgspec.structs.replace(self._master_state.node, aborted=current.id, aborted_because=reason)
        self._master_state.checkpoints.write(node)
        step("checkpoint.given_up")
        self.deciding.end()
        self._answer(reason)

    def collect_garbage(self) -> None:
        """Remove what no kept checkpoint and no running update needs."""
        master_state = self._master_state
        kept, update = master_state.node.complete, master_state.update.value
        over = 0
        if update is not None:
            over = update.epoch if update.phase in CLOSED else update.epoch - 1
        self._background.run(lambda: self._collect(kept, over), self._collected)

    def _begin_if_due(self, now: float) -> None:
        deciding, master_state = self.deciding, self._master_state
        unchanged = deciding.unchanged(master_state.node, master_state.plan, master_state.roster)
        due = deciding.due(now, owed=self.owed or self._finish.needs_checkpoint, unchanged=unchanged)
        if not due or deciding.obstacles(master_state.node, master_state.plan, master_state.roster):
            return
        # demands made from now on are answered by the next one: tasks may have begun this one before them
        self._demands = pending_demands(master_state.state, master_state.plan.topology)
        step("checkpoint.starting")
        node = master_state.node
        master_state.checkpoints.write(msgspec.structs.replace(node, started=node.started + 1))
        step("checkpoint.started")
        deciding.begin(master_state.node, master_state.plan, master_state.roster, now)

    def _write(self, current: Round, now: float) -> None:
        plan, master_state = current.plan, self._master_state
        manifest = Manifest(
            topology=plan.topology,
            execution=master_state.execution.id,
            id=current.id,
            run=current.run,
            epoch=plan.epoch,
            at=time.time(),
            key_groups=plan.logical.key_groups,
            splits={each.name: each.splits for each in plan.logical.components if each.splits},
            tasks=tuple(
                SavedTask(task.id, task.component, task.index, current.parts[task.id]) for task in plan.tasks
            ),
            transactions=sum(current.transactions.values()),
            shapes={each.name: each.shapes for each in plan.logical.components if each.shapes},
        )
        self._writing = True
        seconds = now - current.began

        def write() -> CheckpointRef:
            step("checkpoint.manifest.writing")
            ref = write_manifest(master_state.store(), manifest, seconds=seconds)
            step("checkpoint.manifest.written")
            self._manifests[ref] = manifest
            return ref

        self._background.run(write, lambda outcome: self._written(current, outcome))

    def _written(self, current: Round, outcome: CheckpointRef | Exception) -> None:
        self._writing = False
        if self.deciding.round is not current:
            return  # given up meanwhile
        if isinstance(outcome, Exception):
            self.give_up(f"the manifest could not be written: {outcome}")
            return
        node, retain = self._master_state.node, self._master_state.config["checkpoint.retain"]
        step("checkpoint.completing")
        self._master_state.checkpoints.write(
            msgspec.structs.replace(node, complete=(*node.complete, outcome)[-retain:])
        )
        step("checkpoint.completed")
        self._is_complete(current)

    def _is_complete(self, current: Round) -> bool:
        """Whether the node has it; also after a write that reported an error but was carried out.

        Its manifest must not be written again then, since the node has the checksum of the first.
        """
        complete = self._master_state.node.complete
        if not complete or complete[-1].id != current.id:
            return False
        self.deciding.end()
        self._answer("")
        self.collect_garbage()
        return True

    def _answer(self, error: str) -> None:
        for path in self._demands:
            answer_demand(self._master_state.state, path, error)
        self._demands = []
        self.refresh()

    def _collect(self, kept: tuple[CheckpointRef, ...], updates_over: int) -> int:
        store = self._master_state.store()
        for ref in kept:
            if ref not in self._manifests:
                self._manifests[ref] = read_manifest(store, ref)
        self._manifests = {ref: self._manifests[ref] for ref in kept}
        newest = kept[-1].id if kept else 0
        pairs = list(self._manifests.items())
        return len(collect(store, self._master_state.prefix, pairs, newest=newest, updates_over=updates_over))

    def _collected(self, outcome: int | Exception) -> None:
        if isinstance(outcome, HeronError | OSError):
            log.error("old checkpoints were not removed: %s", outcome)
        elif isinstance(outcome, Exception):
            log.error("old checkpoints were not removed", exc_info=outcome)
        step("checkpoint.collected")
