"""Looks after the scheduler's process: ends it when it hangs, and starts another when it is gone."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable

from heronpy.container.execution import is_current
from heronpy.container.processes.detached import start_detached
from heronpy.container.restart_policy import RestartPolicy, Restarts
from heronpy.container.scheduler.scheduler_handle import MODULE, SchedulerProcess
from heronpy.kernel.config import Config
from heronpy.kernel.errors import StateError
from heronpy.kernel.launch import TopologyLaunch
from heronpy.kernel.liveness.heartbeat_node import HeartbeatReader
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.tree.paths import Tree

log = logging.getLogger(__name__)

SCHEDULER_HOST = (sys.executable, "-P", "-m", MODULE)

#: how long its node may be missing: another restart, or a kill, is under way
GRACE = 2.0

#: how often to check that its process exists, whatever its node contains
GONE = 1.0


class SchedulerWatchdog:
    """Starts scheduler hosts; the ephemeral node that each must create keeps it single."""

    def __init__(self, launch_file: str, launch: TopologyLaunch, state: StateManager) -> None:
        self._launch_file = launch_file
        self._launch = launch
        self._state = state
        self._policy = RestartPolicy.of(Config.from_plain(launch.config))
        self._restarts = Restarts()
        self._started = 0.0
        tree = Tree(launch.topology)
        self._path, self._heartbeat, self._leaving = tree.scheduler, tree.scheduler_pulse, tree.leaving
        self._heartbeats = HeartbeatReader(
            state, Config.from_plain(launch.config).number("container.silence")
        )
        self._look_at = 0.0
        self._gone_at = 0.0
        self._host: SchedulerProcess | None = None
        #: when to start one, unless its node appears before
        self._due: float | None = None
        self._changed = True
        self._wake: Callable[[], None] = lambda: None

    def watch(self, wake: Callable[[], None]) -> None:
        """From now on call `wake` when the node comes or goes; tick() must follow."""
        self._wake = wake
        self._state.watch(self._path, self._on_change)

    def next_deadline(self) -> float:
        looks = min(self._look_at, self._gone_at)
        return looks if self._due is None else min(looks, self._due)

    def tick(self, now: float) -> None:
        try:
            if self._look_at <= now:
                self._look(now)
            if self._gone_at <= now:
                self._gone_at = now + GONE
                self._clear_what_is_left()
            if self._changed:
                self._changed = False
                self._look_again()
                self._due = None if self._state.exists(self._path) else self._next_start(now)
            if self._due is not None and self._due <= now:
                self._start(now)
        except StateError as error:
            log.warning("could not check the scheduler: %s", error)
            self._due, self._changed = now + GRACE, True

    def _look(self, now: float) -> None:
        detector = self._heartbeats.detector
        self._look_at = now + detector.interval
        self._heartbeats.look(now, [self._heartbeat])
        if not detector.silent():
            return
        silence = f"has been silent for {detector.quiet(self._heartbeat):.0f} s"
        self._heartbeats.give_up(self._heartbeat)
        with SchedulerProcess(self._state, Tree(self._launch.topology).scheduler) as host:
            if host.here:
                # its node goes with it, and the watch on the node then starts another
                host.kill(silence)
            else:
                log.error("the scheduler's process %s and runs on another machine: end it there", silence)

    def _clear_what_is_left(self) -> None:
        """Remove the node of a dead process: a store on other machines expires it only after a while."""
        if self._host is not None and self._host.ended:
            self._state.delete(self._path)

    def _look_again(self) -> None:
        if self._host is not None:
            self._host.close()
        self._host = SchedulerProcess(self._state, Tree(self._launch.topology).scheduler)

    def _next_start(self, now: float) -> float:
        if not self._started:
            return now + GRACE
        self._restarts, at = self._policy.after_exit(self._restarts, started=self._started, now=now)
        return max(at, now + GRACE)

    def _start(self, now: float) -> None:
        self._started = now
        # if this one fails before it creates its node, no watch fires
        self._due = self._next_start(now)
        if not is_current(self._state, self._launch) or self._state.exists(self._leaving):
            self._due = None
            return
        log.warning("the scheduler's process is gone, starting another")
        start_detached([*SCHEDULER_HOST, self._launch_file], self._launch.logs / "scheduler.log")

    def _on_change(self) -> None:
        self._changed = True
        self._wake()
