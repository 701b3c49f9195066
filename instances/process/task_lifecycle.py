"""The life of one task in its process. After a restore a new task takes the place of the old."""

from __future__ import annotations

import functools
import gc
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from heronpy.instances.control_events import Abandoned, EventInbox
from heronpy.instances.execution.memory_links import MemoryLink, MemoryLinks
from heronpy.instances.execution.turn import Turn
from heronpy.instances.flow_settings import FlowSettings
from heronpy.instances.link import TaskLink, unheard
from heronpy.instances.near_rows import nobody_near
from heronpy.instances.poison.finding import Finding
from heronpy.instances.positions import Sent, WorkedOff
from heronpy.instances.process.attended_task import AttendedTask
from heronpy.instances.process.joining import Joining, entry_of
from heronpy.instances.process.notices import Notices
from heronpy.instances.process.task_report import TaskReport
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
from heronpy.kernel.trace_points import step
from heronpy.kernel.tree.update import Update
from heronpy.loading import resolve_class

if TYPE_CHECKING:
    from heronpy.kernel.launch import Child, TopologyLaunch

log = logging.getLogger(__name__)

#: new objects before a collection of the youngest, and how many of those before an older generation
GC_THRESHOLDS = (50_000, 20, 50)
#: seconds that a task waits for its run before it looks again, and the process whether it should end
_PATIENCE = 0.5


class Surroundings(NamedTuple):
    """What the tasks of one process have in common."""

    launch: TopologyLaunch
    child: Child
    config: Config
    notices: Notices


class TaskLifecycle:
    """Builds one task of the process, calls it turn by turn, and builds it anew when it is abandoned."""

    def __init__(
        self, around: Surroundings, report: TaskReport, link: TaskLink, neighbours: MemoryLinks | None = None
    ) -> None:
        """`neighbours`: the links of all tasks on this thread, where there are others."""
        launch = around.launch
        self._id = report.task
        self._launch = launch
        self._child = around.child
        self._config = around.config
        self._positions = Path(launch.work) / "positions"
        self._prefix = own_prefix(launch.topology, launch.execution)
        self._settings = FlowSettings.from_config(around.config)
        self._link = link
        self._neighbours = neighbours
        self._notices = around.notices
        self._report = report
        self._task: Task | None = None
        #: the task once it is initialized
        self._attended: AttendedTask | None = None
        #: what is known of tuples that kill the task; None where there is no room to write it down
        self._poison: Finding | None = None

    def turn(self) -> Turn:
        """One turn of the task; if there is none, it is built as soon as it may take part."""
        try:
            if self._attended is None:
                return self._join()
            return self._attended.turn()
        except Abandoned:
            self._abandon()
            return Turn.MORE

    def patience(self) -> float:
        return _PATIENCE if self._attended is None else self._attended.patience()

    def close(self) -> None:
        """The process has to stop."""
        self._report.leave()
        if self._attended is not None and self._task is not None:
            try:
                self._task.close()
            except Abandoned:
                self._abandon()

    def _join(self) -> Turn:
        entry = entry_of(self._notices, self._id, self._child.incarnation)
        if entry is None:
            return Turn.DONE
        self._attended = self._begin(entry)
        return Turn.MORE

    def _begin(self, entry: Joining) -> AttendedTask:
        """Build the task and initialize it."""
        task = self._task = self._build(entry)
        assert task.saving is not None
        assert task.saver is not None
        attention = EventInbox(self._notices)
        switching = Switching(
            task, entry.plan, self._report, task.saver, self._open_store, entry.run, waits=entry.waits
        )
        leaving = LeaveForNextRun(entry.run, self._id, self._child.incarnation)
        config = RuntimeConfig(task, lambda: self._notices.live_config)
        attention.listeners += [leaving, task.saving, switching, config]
        task.parts.outbox.meanwhile = attention.peek
        self._report.enter("initialize")
        task.initialize()
        _calm_collector()
        self._report.leave()
        self._enter_run(entry.run)
        log.info("pid %d runs %s", os.getpid(), task.parts.logger.name)
        return AttendedTask(task, attention, switching, self._notices, self._report)

    def _build(self, entry: Joining) -> Task:
        plan, run = entry.plan, entry.run
        if self._poison is None:
            self._poison = self._find_poison(plan)
        self._report.renew()
        saved = self._load(entry)
        rows = rows_are_unsent(plan, entry.checkpoints, first=self._child.first)
        exact = entry.successor_in is not None or (bool(run) and self._is_own(entry))
        keeping = SavingSettings(self._open_store, self._prefix, self._on_stored, saved, rows, exact)
        sent, worked_off = self._begin_positions(entry)
        task = build_task(
            plan,
            self._id,
            self._child.incarnation,
            self._link,
            self._settings,
            functools.partial(resolve_class, plan.logical.source.below(self._launch.package)),
            run=run,
            counters=self._report.counters,
            keeping=keeping,
            sent=sent,
            worked_off=worked_off,
            poison=self._poison,
            may_wait=self._neighbours is None,
            near=self._neighbours.near if self._neighbours is not None else nobody_near,
        )
        if isinstance(task.loop, BoltTask):
            task.loop.on_refused(self._report.refused)
        self._take_frames(task)
        self._report.speak_for(task)
        return task

    def _take_frames(self, task: Task | None) -> None:
        """Frames go to this task from now on; without one they are dropped."""
        self._link.handler = task.on_frame if task is not None else unheard
        if isinstance(self._link, MemoryLink):
            self._link.on_batch = task.exchange.on_batch if task is not None else None

    def _is_own(self, entry: Joining) -> bool:
        """Whether the task begins with a checkpoint of this execution, not with one of `submit --from`."""
        origin = origin_of(entry.plan, entry.checkpoints)
        return origin is not None and origin.manifest.startswith(f"{self._prefix}/")

    def _find_poison(self, plan: PhysicalPlan) -> Finding | None:
        placed, launch = plan.task(self._id), self._launch
        marks = launch.container_sockets(placed.container)
        try:
            found = Finding(Path(launch.work), launch.logs, marks, placed.component, placed.label)
        except OSError as error:
            log.warning("poison tuples of this task will not be detected: %s", error)
            return None
        self._report.know(found)
        return found

    def _begin_positions(self, entry: Joining) -> tuple[Sent, WorkedOff]:
        """Positions are not recorded in a run: after a loss the next run starts from a checkpoint."""
        plan = entry.plan
        component = plan.task(self._id).component
        receivers, emitters = len(plan.downstream_of(component)), len(plan.upstream_of(component))
        place = (self._positions, self._id, self._child.incarnation)
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
            saved = load_checkpoint(store, origin, entry.plan, self._id)
        finally:
            store.close()
        log.info("begins with checkpoint %d: %s", origin.id, origin.manifest)
        step("restore.loaded")
        return saved

    def _load_from_predecessor(self, plan: PhysicalPlan, update: Update) -> Saved:
        """In a planned restart nothing is lost: the predecessor has handed over all that it had."""
        me = self._id
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
        setattr(self._report.progress, kind, stored)
        self._report.tell()

    def _enter_run(self, run: int) -> None:
        """From now on no barrier is missed, so only now the task reports that it takes part."""
        if run:
            step("restore.initialized")
        self._report.enter_run(run)

    def _abandon(self) -> None:
        """Discard the old task: nothing of it is sent any more, and errors of its close() are ignored."""
        self._report.leave()
        self._take_frames(None)
        self._attended = None
        task, self._task = self._task, None
        if task is not None:
            step("restore.abandoned")
            task.abandon()
        gc.unfreeze()

    def disown(self) -> None:
        """In a process that user code has forked: the task is not its own."""
        if self._task is not None:
            self._task.parts.collector.disown()


def _calm_collector() -> None:
    """Keep the cycle collector away from what was built at start, and from batches that live for a moment.

    By default it runs after every 700 new objects, which is more often than once a batch: a word count over a
    large vocabulary spent half of its time there.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
