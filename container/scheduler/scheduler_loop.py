"""Feeds a scheduler plugin: exits, due restarts, changed plans, and requests from the state tree."""

from __future__ import annotations

import logging
import select
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from heronpy.container.execution import execution_of, is_current, read_execution
from heronpy.container.kept_checkpoints import require_store
from heronpy.container.remote.shipped import read_shipped
from heronpy.container.restart_policy import RestartPolicy, Restarts
from heronpy.container.scheduler.launcher import TopologyLauncher
from heronpy.container.scheduler.scheduler_handle import SchedulerNode
from heronpy.container.teardown import announce_leaving, clear_topology
from heronpy.container.watchdog.watchdog_process import KeptAlive
from heronpy.kernel.config import Config
from heronpy.kernel.errors import DamagedNode, NodeExists, NodeMissing, StateError, UserError
from heronpy.kernel.formats import NODE
from heronpy.kernel.launch import TopologyLaunch
from heronpy.kernel.liveness.heartbeat_node import HeartbeatNode, HeartbeatReader
from heronpy.kernel.liveness.silence import SilenceDetector
from heronpy.kernel.machine.wakeup import Wakeup
from heronpy.kernel.plans import PackingPlan, PhysicalPlan, union
from heronpy.kernel.plugin import ContainerExit, Scheduler, StateManager
from heronpy.kernel.plugin.scheduler import HOPELESS
from heronpy.kernel.plugin.state_manager import Watch
from heronpy.kernel.tree.mending import Mender, mend
from heronpy.kernel.tree.paths import Tree, Waiting
from heronpy.kernel.tree.registrations import needed, read, reported
from heronpy.kernel.tree.request_nodes import answer_request
from heronpy.kernel.tree.requests import Request, pending_requests
from heronpy.kernel.tree.update import BOTH_RUN, Update, UpdateFailure, packing_to_run

log = logging.getLogger(__name__)

#: longest wait for a scheduler that can be woken, and for one that cannot
LONG, SHORT = 60.0, 0.25
#: pause before a plan that a scheduler could not apply is tried again
FOLLOW_AGAIN = 5.0
#: pause after the state tree could not be read
STATE_RETRY = 1.0


class SchedulerLoop:
    """Feeds one scheduler: exits go through the restart policy, requests come from the state tree."""

    def __init__(self, launch_file: str, state: StateManager, scheduler: Scheduler) -> None:
        self._launch_file = launch_file
        self._launch = TopologyLaunch.read(launch_file)
        self._name = self._launch.topology
        self._tree = Tree(self._name)
        self._state = state
        self._scheduler = scheduler
        self._config = Config.from_plain(self._launch.config)
        self._policy = RestartPolicy.of(self._config)
        self._execution = read_execution(state, self._name) or execution_of(self._launch)
        self._plan = self._wished()
        self._mender = Mender(state)
        self._mender.hold(self._tree.packing_plan, PackingPlan, self._packing_in_force)
        self._mender.hold(self._tree.waiting, Waiting, lambda: NODE.encode(Waiting(self._waiting)))
        #: when to try again to apply a plan that could not be applied
        self._follow_at = 0.0
        shipped = read_shipped(state, self._name)
        self._launcher = TopologyLauncher(launch_file, self._launch, self._plan, shipped)
        self._wakeup = Wakeup()
        self._watches: list[Watch] = []
        self._restarts: dict[int, Restarts] = {}
        self._started: dict[int, float] = {}
        #: when to start a container that ended
        self._due: dict[int, float] = {}
        #: containers given up after too many restarts; only a requested restart tries again
        self._given_up: set[int] = set()
        #: containers that wait for resources, as written to the state tree
        self._waiting = (reported(state, self._tree.waiting, Waiting) or Waiting()).containers
        self._heartbeats = HeartbeatReader(state, self._config.number("container.silence"))
        self._look_at = 0.0
        #: awaits container 0
        self._missed: SilenceDetector[int] = SilenceDetector(
            self._config.number("container.lost"), longest=self._heartbeats.detector.interval
        )
        beside = self._launch.keeper == "beside"
        self._kept = KeptAlive(launch_file, self._launch, state) if beside else None
        self._session = state.session
        self._stopping = False

    def run(self, on_ready: Callable[[], None]) -> None:
        """Until the topology is killed, or this process is asked to end; containers outlive the latter."""
        heartbeat = HeartbeatNode(
            self._state, self._tree.scheduler_pulse, self._config.number("container.silence")
        )
        with heartbeat.in_background(on_fenced=self._on_fenced):
            self._startup()
            on_ready()
            try:
                while not self._stopping:
                    self._turn_if_told()
            finally:
                for watch in self._watches:
                    watch.cancel()
                self._scheduler.close()
                self._wakeup.close()

    def _startup(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_stop_signal)
        tree = self._tree
        for path in (tree.requests, tree.packing_plan, tree.update, tree.execution, tree.keeper):
            self._watches.append(self._state.watch(path, self._wake))
        self._scheduler.initialize(self._config, self._launcher)
        self._start_missing()
        # not before: a scheduler may have something to link to only when it has started containers
        node = SchedulerNode.of_this_process(self._scheduler.links())
        version = self._state.get(self._tree.scheduler).version
        self._state.set(self._tree.scheduler, NODE.encode(node), version=version)

    def _start_missing(self) -> None:
        running = set(self._scheduler.adopt(self._plan))
        missing = [each for each in self._everyone() if each not in running]
        self._begin_anew(self._everyone())
        if not running:
            self._scheduler.on_schedule(self._plan)
        elif missing:
            log.warning("adopted containers %s, starting %s", sorted(running), missing)
            self._scheduler.on_restart(missing)

    def _turn_if_told(self) -> None:
        """One turn; while the state tree cannot be read, everything stays as it is."""
        try:
            self._turn()
        except StateError as error:
            log.warning("could not read the state tree: %s", error)
            self._pause(STATE_RETRY)

    def _turn(self) -> None:
        if not self._is_current():
            log.warning("%s is gone from the state tree, ending its containers", self._name)
            self._scheduler.on_kill()
            self._stopping = True
            return
        if self._state.session != self._session:
            self._claim_again()
        now = time.monotonic()
        if self._kept is not None:
            self._kept.see_to_it(now)
        self._serve_requests()
        if self._stopping:
            return
        if self._follow_at <= now:
            self._follow_plan(now)
        if self._look_at <= now:
            self._mend()
            self._look_for_silent(now)
            self._look_for_master(now)
        self._restart_due(now)
        again = [self._follow_at] if self._follow_at > now else []
        soonest = min([self._look_at, *again, *self._due.values()])
        for ended in self._watch(min(LONG, max(0.0, soonest - now))):
            self._on_end(ended.container, _words(ended), hopeless=ended.status == HOPELESS)
        self._tell_who_waits()

    def _is_current(self) -> bool:
        try:
            return is_current(self._state, self._launch)
        except DamagedNode as damage:
            log.error("%s; it is written again", damage)
            mend(self._state, damage, NODE.encode(self._execution))
            return is_current(self._state, self._launch)

    def _mend(self) -> None:
        """Write damaged nodes again: those of this process, and those that it has copies of."""
        self._mender.look()
        try:
            read(self._state, self._tree.scheduler, SchedulerNode)
        except DamagedNode as damage:
            log.error("%s; it is made again", damage)
            node = SchedulerNode.of_this_process(self._scheduler.links())
            self._state.delete(self._tree.scheduler)
            self._state.create(self._tree.scheduler, NODE.encode(node), ephemeral=True)

    def _packing_in_force(self) -> bytes:
        """The packing plan as it was read; empty when it may have changed since."""
        plan = reported(self._state, self._tree.physical_plan, PhysicalPlan)
        known = self._packing
        return known.to_json() if plan is not None and plan.epoch == known.epoch else b""

    def _tell_who_waits(self) -> None:
        waiting = {str(container): why for container, why in self._scheduler.waiting().items()}
        if waiting != self._waiting:
            for container in waiting.keys() - self._waiting.keys():
                log.warning("container %s waits: %s", container, waiting[container])
            self._state.set(self._tree.waiting, NODE.encode(Waiting(waiting)))
            self._waiting = waiting

    def _claim_again(self) -> None:
        """The node of this process has expired: claim it again, unless a successor has it."""
        session = self._state.session
        node = SchedulerNode.of_this_process(self._scheduler.links())
        try:
            self._state.create(self._tree.scheduler, NODE.encode(node), ephemeral=True)
        except NodeExists:
            self._on_fenced()
        self._session = session

    def _watch(self, timeout: float) -> list[ContainerExit]:
        if not self._scheduler.stateful:
            self._pause(timeout)
            return []
        wakeable = type(self._scheduler).wake is not Scheduler.wake
        before = time.monotonic()
        exits = list(self._scheduler.watch(timeout if wakeable else min(timeout, SHORT)))
        if not exits and time.monotonic() - before < min(timeout, SHORT):
            # woken, or a scheduler that does not wait: the pause distinguishes them
            self._pause(min(timeout, SHORT))
        return exits

    def _pause(self, timeout: float) -> None:
        poll = select.poll()
        poll.register(self._wakeup, select.POLLIN)
        poll.poll(timeout * 1000)
        self._wakeup.drain()

    def _look_for_silent(self, now: float) -> None:
        """An executor whose heartbeats have ceased is stopped, or hangs."""
        detector = self._heartbeats.detector
        self._look_at = now + detector.interval
        paths = {self._tree.pulse(each): each for each in self._everyone() if self._runs(each)}
        self._heartbeats.look(now, paths)
        # One at a time: an executor stopped while it holds a lock of the state tree blocks the heartbeats of
        # the others until it is gone, and it is the one that has been silent the longest.
        silent = max(detector.silent(), key=detector.quiet, default="")
        if silent:
            how = f"silent for {detector.quiet(silent):.0f} s"
            self._heartbeats.give_up(silent)
            if silent in paths:
                self._on_end(paths[silent], how)

    def _look_for_master(self, now: float) -> None:
        """The Topology Master detects lost containers; only this process can detect that its own is lost."""
        present = self._state.exists(self._tree.pulse(0))
        self._missed.look(now)
        if present:
            self._missed.hear(0)
        elif 0 in self._missed.silent():
            how = f"not heard of for {self._missed.quiet(0):.0f} s"
            self._missed.forget(0)
            if self._runs(0):
                self._on_end(0, how)

    def _runs(self, container: int) -> bool:
        """Whether it is not waited for anyway, or not any more."""
        return container not in self._due and container not in self._given_up

    def _on_end(self, container: int, how: str, *, hopeless: bool = False) -> None:
        """The container ended, or must end: it is started again, which ends what is left of it."""
        now = time.monotonic()
        past = self._restarts.get(container, Restarts())
        started = self._started.get(container, now)
        restarts, at = self._policy.after_exit(past, started=started, now=now)
        if hopeless or self._policy.gives_up(restarts):
            how = f"given up: {how}" if hopeless else f"given up after {past.streak} restarts in a row: {how}"
            log.error("container %d %s", container, how)
            self._given_up.add(container)
            self._state.set(self._tree.given_up(container), how.encode())
            return
        self._restarts[container], self._due[container] = restarts, at
        log.warning("container %d ended (%s), restart in %.1f s", container, how, at - now)

    def _begin_anew(self, containers: Iterable[int]) -> None:
        """They were started on request, or are new: their restart history is forgotten."""
        now = time.monotonic()
        for container in containers:
            self._due.pop(container, None)
            self._restarts.pop(container, None)
            self._given_up.discard(container)
            self._missed.forget(container)
            self._started[container] = now
            self._state.delete(self._tree.given_up(container))

    def _everyone(self) -> list[int]:
        return [0, *(container.id for container in self._plan.containers)]

    def _restart_due(self, now: float) -> None:
        due = [container for container, at in self._due.items() if at <= now]
        for container in due:
            del self._due[container]
            self._missed.forget(container)
            self._started[container] = now
            try:
                self._scheduler.on_restart([container])
            except Exception:
                # a full disk, or a plugin's mistake: it may pass, and the others still need this process
                log.exception("container %d could not be started", container)
                self._on_end(container, "could not be started")

    def _wished(self) -> PackingPlan:
        """The containers that should run now: during an update, those of both plans."""
        # the update first: the packing plan changes before it is over, so no container is dropped in between
        self._update = read(self._state, self._tree.update, Update)
        self._packing = needed(self._state, self._tree.packing_plan, PackingPlan)
        return packing_to_run(self._packing, self._update)

    def _follow_plan(self, now: float) -> None:
        try:
            proposed = self._wished()
        except NodeMissing:
            return
        except DamagedNode as damage:
            # running containers keep running; the plan is read again when the node is repaired
            log.warning("could not read the plan: %s", damage)
            self._follow_at = now + STATE_RETRY
            return
        if proposed == self._plan:
            return
        current = self._plan
        try:
            self._launcher.plan = union(current, proposed)
            self._scheduler.on_update(current, proposed)
        except Exception as error:
            log.exception("the scheduler could not change to plan %d", proposed.epoch)
            if self._update is None or self._update.phase not in BOTH_RUN:
                self._follow_at = now + FOLLOW_AGAIN
                return
            # some may have been started: with the plan marked as applied, they end when it is rolled back
            reason = " ".join(str(error).split()) or type(error).__name__
            failure = UpdateFailure(self._update.epoch, reason)
            self._state.set(self._tree.update_failure, NODE.encode(failure))
        self._plan = self._launcher.plan = proposed
        come, go = current.changes(proposed)
        self._begin_anew(come)
        for container in go:
            self._forget(container)

    def _forget(self, container: int) -> None:
        """It has left the plan. The executor's node stays: incarnations must not start over."""
        self._due.pop(container, None)
        folder = f"{self._tree.containers}/{container}"
        for name in self._state.children(folder):
            if name != "executor":
                self._state.delete(f"{folder}/{name}", recursive=True)

    def _serve_requests(self) -> None:
        for path, request in pending_requests(self._state, self._name):
            try:
                self._serve(request)
            except Exception as error:
                log.exception("%s failed", request.kind)
                reason = str(error) or type(error).__name__
                # a replacement is requested without waiting for an answer
                answer_request(self._state, path, request, "" if request.kind == "replace" else reason)
                continue
            if self._stopping:
                return
            answer_request(self._state, path, request)

    def _serve(self, request: Request) -> None:
        if request.kind == "kill":
            require_store(self._state, self._launch, keep=request.keep_checkpoints)
            announce_leaving(self._state, self._tree)
            self._scheduler.on_kill()
            work = Path(self._launch.work)
            clear_topology(
                self._state,
                self._name,
                work,
                self._launch,
                keep_logs=request.keep_logs,
                keep_checkpoints=request.keep_checkpoints,
                keep_objects=request.keep_objects,
            )
            self._stopping = True
            return
        everyone = self._everyone()
        chosen = everyone if request.container is None else [request.container]
        if unknown := set(chosen) - set(everyone):
            msg = f"there is no container {unknown.pop()}; it has {', '.join(map(str, everyone))}"
            raise UserError(msg)
        if request.kind == "restart":
            self._scheduler.on_restart(chosen)
            self._begin_anew(chosen)
            return
        waiting = self._scheduler.waiting()
        for container in chosen:
            # asking again does not make room for a container that waits for it
            if self._runs(container) and container not in waiting:
                self._on_end(container, request.reason)

    def _wake(self) -> None:
        self._wakeup.wake()
        self._scheduler.wake()

    def _on_stop_signal(self, *_: object) -> None:
        self._stopping = True
        self._wake()

    def _on_fenced(self) -> None:
        log.warning("another process has this topology, or it was killed: ending")
        self._stopping = True
        self._wake()


def _words(ended: ContainerExit) -> str:
    if ended.reason:
        return ended.reason
    if ended.status is None:
        return "status unknown"
    return f"exit {ended.status}" if ended.status >= 0 else f"signal {-ended.status}"
