"""One task after another in the same process: after a restore a new one takes the place of the old."""

from __future__ import annotations

import functools
import gc
import logging
import os
import time
from typing import TYPE_CHECKING

from heronpy.instances.attention import Abandoned, Attention
from heronpy.instances.control import Control
from heronpy.instances.counters import Counters
from heronpy.instances.forks import guard_forks
from heronpy.instances.runs import LeaveForNextRun, run_of
from heronpy.instances.settings import FlowSettings
from heronpy.instances.socket_link import SocketLink
from heronpy.instances.task import Task, build_task
from heronpy.kernel.plans import PhysicalPlan
from heronpy.kernel.steps import step
from heronpy.kernel.transport import Reactor
from heronpy.loading import resolve_class

if TYPE_CHECKING:
    from heronpy.container.launch import Child

log = logging.getLogger(__name__)

#: new objects before a collection of the youngest, and how many of those before an older generation
GC_THRESHOLDS = (50_000, 20, 50)
#: how long a process waits for its run before it looks whether it should end
_PATIENCE = 0.5


class Host:
    """Builds the task of this process, runs it, and builds it anew when it is abandoned."""

    def __init__(
        self, child: Child, settings: FlowSettings, link: SocketLink, reactor: Reactor, control: Control
    ) -> None:
        self._child = child
        self._settings = settings
        self._link = link
        self._reactor = reactor
        self._control = control
        self._counters = Counters()
        self._counters.on_loss = control.tell
        control.samples = self._counters.samples
        control.losses = self._counters
        control.returned_at = lambda: self._counters.returned_at
        self._task: Task | None = None
        guard_forks(in_child=self._disown)

    def run(self) -> None:
        """Until the process is told to end, or the user's code fails."""
        while (run := self._wait_for_run()) is not None:
            try:
                self._live(run)
            except Abandoned:
                self._abandon()
            else:
                return

    def _wait_for_run(self) -> int | None:
        """The run to take part in; None when the process is told to end first."""
        child, control = self._child, self._control
        while not self._reactor.stopping:
            plan, checkpoints = control.plan, control.checkpoints
            assert plan is not None
            assert checkpoints is not None
            run = run_of(plan, checkpoints, child.task, child.incarnation)
            if run is not None:
                return run
            self._link.pump(_PATIENCE)
        return None

    def _live(self, run: int) -> None:
        control = self._control
        plan = control.plan
        assert plan is not None
        task = self._task = self._build(plan, run)
        attention = Attention(control)
        attention.listeners.append(LeaveForNextRun(run, self._child.task, self._child.incarnation))
        task.parts.outbox.meanwhile = attention.peek
        control.progress.run = run
        self._loop(task, attention)

    def _build(self, plan: PhysicalPlan, run: int) -> Task:
        child, control = self._child, self._control
        self._counters.begin()
        task = build_task(
            plan,
            child.task,
            child.incarnation,
            self._link,
            self._settings,
            functools.partial(resolve_class, plan.logical.source),
            run=run,
            counters=self._counters,
        )
        self._link.handler = task.on_frame
        control.held_up_by = task.held_up_by
        control.hold_ups = task.parts.outbox.hold_ups.lasting
        return task

    def _loop(self, task: Task, attention: Attention) -> None:
        """Initialize, then one turn after another until told to end."""
        parts, control = task.parts, self._control
        component = parts.plan.logical.component(parts.context.get_component_id())
        call = "next_tuple" if component.kind == "spout" else "process"
        self._enter("initialize")
        task.initialize()
        _calm_collector()
        self._leave()
        log.info("pid %d runs %s", os.getpid(), parts.logger.name)
        active = None
        while not self._reactor.stopping:
            attention.look()
            if control.active is not active:
                active = control.active
                task.loop.set_live(active)
                control.report("running" if active else "paused")
            self._enter(call)
            task.turn()
        self._leave()
        task.close()

    def _abandon(self) -> None:
        """Nothing of the old task is sent any more, and whatever its close() does is its own affair."""
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


def _unheard(_prefix: bytes, _payload: bytes) -> None:
    """A frame that comes while there is no task is of a run that is over, or says what is said again."""


def _calm_collector() -> None:
    """Keep the cycle collector away from what was built at start, and from batches that live for a moment.

    By default it runs after every 700 new objects, which is more often than once a batch: a word count over a
    large vocabulary spent half of its time there.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
