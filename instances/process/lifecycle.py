"""One task after another in the same process: after a restore a new one takes the place of the old."""

from __future__ import annotations

import functools
import gc
import logging
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from heronpy.instances.control_events import Abandoned, EventInbox
from heronpy.instances.counters import Counters
from heronpy.instances.execution.one_task import OneTask
from heronpy.instances.flow_settings import FlowSettings
from heronpy.instances.poison.finding import Finding
from heronpy.instances.positions import Sent, WorkedOff
from heronpy.instances.process.attended_task import AttendedTask
from heronpy.instances.process.control import Control
from heronpy.instances.process.forks import guard_forks
from heronpy.instances.process.joining import Joining, entry_of
from heronpy.instances.process.socket_link import SocketLink
from heronpy.instances.saving.run_membership import LeaveForNextRun, origin_of, rows_are_unsent
from heronpy.instances.saving.snapshot import SavingSettings
from heronpy.instances.saving.state import Saved, load_checkpoint, load_handovers
from heronpy.instances.saving.state.state_saver import Kind
from heronpy.instances.task.bolt_task import BoltTask
from heronpy.instances.task.build import Task, build_task
from heronpy.instances.task.runtime_config import RuntimeConfig
from heronpy.instances.task.switching import Switching
from heronpy.kernel.checkpoints.object_names import own_prefix
from heronpy.kernel.config import Config
from heronpy.kernel.plans import PhysicalPlan
from heronpy.kernel.plugin.checkpoint_store import CheckpointStore
from heronpy.kernel.plugin.opening import open_checkpoint_store
from heronpy.kernel.protocol import Stored
from heronpy.kernel.protocol.ending import Ending
from heronpy.kernel.trace_points import step
from heronpy.kernel.transport import Reactor
from heronpy.kernel.tree.update import Update
from heronpy.loading import resolve_class

if TYPE_CHECKING:
    from heronpy.kernel.launch import Child, TopologyLaunch

log = logging.getLogger(__name__)

#: new objects before a collection of the youngest, and how many of those before an older generation
GC_THRESHOLDS = (50_000, 20, 50)
#: how long a process waits for its run before it looks whether it should end
_PATIENCE = 0.5


class TaskLifecycle:
    """Builds the task of this process, runs it, and builds it anew when it is abandoned."""

    def __init__(
        self, launch: TopologyLaunch, child: Child, link: SocketLink, reactor: Reactor, control: Control
    ) -> None:
        self._child = child
        self._config = Config.from_plain(launch.config)
        self._package = launch.package
        self._positions = Path(launch.work) / "positions"
        self._prefix = own_prefix(launch.topology, launch.execution)
        self._settings = FlowSettings.from_config(self._config)
        self._link = link
        self._reactor = reactor
        self._control = control
        self._counters = Counters()
        self._counters.on_loss = self._on_loss
        control.samples = self._counters.samples
        control.losses = self._counters
        control.returned_at = lambda: self._counters.returned_at
        self._task: Task | None = None
        #: what is known of tuples that kill the task; None where there is no room to write it down
        self._poison = _finding(launch, child)
        if self._poison is not None:
            control.poison = self._poison.shown
            control.on_orphaned = self._poison.excuse
        #: what had been lost, certainly or perhaps, when the run began
        self._lost_before = 0
        guard_forks(in_child=self._disown)

    def run(self) -> None:
        """Run until the process has to stop, or the user's code fails."""
        while (entry := self._wait_for_entry()) is not None:
            try:
                self._live(entry)
            except Abandoned:
                self._abandon()
            else:
                return

    def _wait_for_entry(self) -> Joining | None:
        """The plan, run and checkpoint to start with; None when the process has to stop first."""
        child, control = self._child, self._control
        while not self._reactor.stopping:
            entry = entry_of(control, child.task, child.incarnation)
            if entry is not None:
                return entry
            self._link.pump(_PATIENCE)
        return None

    def _live(self, entry: Joining) -> None:
        control, child = self._control, self._child
        task = self._task = self._build(entry)
        assert task.saving is not None
        assert task.saver is not None
        attention = EventInbox(control)
        switching = Switching(
            task, entry.plan, control, task.saver, self._open_store, entry.run, waits=entry.waits
        )
        leaving = LeaveForNextRun(entry.run, child.task, child.incarnation)
        config = RuntimeConfig(task, lambda: control.live_config)
        attention.listeners += [leaving, task.saving, switching, config]
        task.parts.outbox.meanwhile = attention.peek
        self._loop(task, attention, switching, entry.run)

    def _build(self, entry: Joining) -> Task:
        child, control = self._child, self._control
        plan, run = entry.plan, entry.run
        self._counters.begin()
        control.progress.ending = Ending.NOT_YET
        self._lost_before = self._lost
        saved = self._load(entry)
        rows = rows_are_unsent(plan, entry.checkpoints, first=child.first)
        exact = bool(run) or entry.successor_in is not None
        keeping = SavingSettings(self._open_store, self._prefix, self._on_stored, saved, rows, exact)
        sent, worked_off = self._begin_positions(entry)
        task = build_task(
            plan,
            child.task,
            child.incarnation,
            self._link,
            self._settings,
            functools.partial(resolve_class, plan.logical.source.below(self._package)),
            run=run,
            counters=self._counters,
            keeping=keeping,
            sent=sent,
            worked_off=worked_off,
            poison=self._poison,
        )
        if isinstance(task.loop, BoltTask):
            task.loop.on_refused(self._on_refused)
        self._link.handler = task.on_frame
        assert task.saving is not None
        control.held = task.parts.state.held
        control.unchanged_since = task.saving.unchanged_since
        control.held_up_by = task.held_up_by
        control.hold_ups = task.parts.outbox.hold_ups.lasting
        return task

    def _begin_positions(self, entry: Joining) -> tuple[Sent, WorkedOff]:
        """Positions are not recorded in a run: after a loss the next run starts from a checkpoint."""
        child, plan = self._child, entry.plan
        component = plan.task(child.task).component
        receivers, emitters = len(plan.downstream_of(component)), len(plan.upstream_of(component))
        place = (self._positions, child.task, child.incarnation)
        noted = not entry.run
        return (
            Sent.begin(*place, receivers) if noted and receivers else Sent(),
            WorkedOff.begin(*place, emitters) if noted and emitters else WorkedOff(),
        )

    def _load(self, entry: Joining) -> Saved | None:
        """The state to start with. Fails if it cannot be read: only the master may choose another one."""
        if entry.successor_in is not None:
            return self._load_from_predecessor(entry.plan, entry.successor_in)
        origin = origin_of(entry.plan, entry.checkpoints)
        if origin is None or entry.waits:  # a new task gets its state from the previous owners
            return None
        store = self._open_store()
        try:
            saved = load_checkpoint(store, origin, entry.plan, self._child.task)
        finally:
            store.close()
        log.info("begins with checkpoint %d: %s", origin.id, origin.manifest)
        step("restore.loaded")
        return saved

    def _load_from_predecessor(self, plan: PhysicalPlan, update: Update) -> Saved:
        """In a planned restart nothing is lost: the predecessor has handed over all that it had."""
        me = self._child.task
        groups = dict.fromkeys(range(len(plan.key_groups.get(plan.task(me).component, ()))), me)
        store = self._open_store()
        try:
            saved = load_handovers(store, update.handovers, groups, (me,), task_id=me)
        finally:
            store.close()
        step("update.restart.loaded")
        return saved

    def _open_store(self) -> CheckpointStore:
        return open_checkpoint_store(self._config)

    def _on_stored(self, stored: Stored, kind: Kind) -> None:
        setattr(self._control.progress, kind, stored)
        self._control.tell()

    def _on_refused(self, tup: str) -> None:
        self._control.poison = tup
        self._control.tell()

    @property
    def _lost(self) -> int:
        return self._counters.missing + self._counters.maybe_lost

    def _on_loss(self) -> None:
        """Reported immediately: this process may die before the next beat. A loss in a run ends the run."""
        run = self._control.progress.run
        if run and self._lost > self._lost_before:
            self._control.progress.broken_run = run
        self._control.tell()

    def _loop(self, task: Task, attention: EventInbox, switching: Switching, run: int) -> None:
        """Initialize, then one turn after another until the process has to stop."""
        parts, control = task.parts, self._control
        component = parts.plan.logical.component(parts.context.get_component_id())
        call = "next_tuple" if component.kind == "spout" else "process"
        self._enter("initialize")
        task.initialize()
        _calm_collector()
        self._leave()
        self._enter_run(run)
        log.info("pid %d runs %s", os.getpid(), parts.logger.name)
        attended = AttendedTask(task, attention, switching, control, lambda: self._enter(call))
        OneTask(attended, self._link).run()
        self._leave()
        task.close()

    def _enter_run(self, run: int) -> None:
        """From now on no barrier is missed, so only now the task reports that it takes part."""
        if run:
            step("restore.initialized")
        self._control.progress.run = run
        self._on_loss()

    def _abandon(self) -> None:
        """Discard the old task: nothing of it is sent any more, and errors of its close() are ignored."""
        self._leave()
        self._link.handler = _unheard
        task, self._task = self._task, None
        if task is not None:
            step("restore.abandoned")
            task.abandon()
        gc.unfreeze()

    def _disown(self) -> None:
        if self._task is not None:
            self._task.parts.collector.disown()

    def _enter(self, call: str) -> None:
        self._control.in_call = call
        self._control.in_call_since = time.monotonic()

    def _leave(self) -> None:
        self._control.in_call_since = 0.0


def _finding(launch: TopologyLaunch, child: Child) -> Finding | None:
    component = child.name.rpartition("[")[0]
    marks = launch.container_sockets(child.container)
    try:
        return Finding(Path(launch.work), launch.logs, marks, component, child.name)
    except OSError as error:
        log.warning("poison tuples of this task will not be detected: %s", error)
        return None


def _unheard(_prefix: bytes, _payload: bytes) -> None:
    """Drops frames while there is no task: they belong to a run that is over, or will be sent again."""


def _calm_collector() -> None:
    """Keep the cycle collector away from what was built at start, and from batches that live for a moment.

    By default it runs after every 700 new objects, which is more often than once a batch: a word count over a
    large vocabulary spent half of its time there.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
