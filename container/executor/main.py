"""The first process of a container: starts the others, keeps them alive, ends them when it ends."""

from __future__ import annotations

import ctypes
import logging
import os
import select
import selectors
import shutil
import signal
import sys
import time
from collections.abc import Mapping, Sequence

from heronpy.container.execution import await_execution, is_current, read_execution
from heronpy.container.executor.desired_children import wanted_children
from heronpy.container.executor.executor_node import ExecutorRecord
from heronpy.container.executor.reaper import end_strangers, reap
from heronpy.container.executor.supervisor import DesiredChild, Moment, Supervisor
from heronpy.container.folders import make_sockets_folder
from heronpy.container.processes.child import Start, configure_logging, log_caps
from heronpy.container.processes.roles import ROLES
from heronpy.container.processes.zygote_client import CHILD, ZYGOTE, ZygoteClient, spawn
from heronpy.container.restart_policy import RestartPolicy
from heronpy.container.watchdog.scheduler_watch import SchedulerWatchdog
from heronpy.kernel.config import Config
from heronpy.kernel.errors import (
    DamagedNode,
    HeronError,
    NodeMissing,
    PeerLost,
    StateError,
    UserError,
    VersionConflict,
)
from heronpy.kernel.formats import NODE
from heronpy.kernel.launch import Role, TopologyLaunch
from heronpy.kernel.liveness.heartbeat_node import HeartbeatNode
from heronpy.kernel.liveness.lifeline import has_beaten
from heronpy.kernel.logs.log_rotation import cap_logs
from heronpy.kernel.machine.private import make_private
from heronpy.kernel.machine.wakeup import Wakeup
from heronpy.kernel.plans import LogicalPlan, PackingPlan, PhysicalPlan
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.plugin.opening import installed, open_state
from heronpy.kernel.plugin.scheduler import HOPELESS
from heronpy.kernel.tree.mending import Mender
from heronpy.kernel.tree.paths import Execution, Tree
from heronpy.kernel.tree.registrations import needed, read, reported
from heronpy.kernel.tree.update import Update, packing_to_run

log = logging.getLogger(__name__)

#: another executor owns the container, or the topology is gone
FENCED = 75

#: shortest pause between two writes to the state tree, and the pause after one that failed
PUBLISH_INTERVAL = 0.1
STATE_RETRY = 1.0

_PR_SET_CHILD_SUBREAPER = 36


class Executor:
    """One container. Everything happens in run(), on one thread."""

    def __init__(
        self,
        launch_file: str,
        container: int,
        state: StateManager,
        zygote_client: ZygoteClient,
        child: Sequence[str] = CHILD,
        lifeline: int | None = None,
    ) -> None:
        self._launch_file = launch_file
        #: closes with the process that started this one, where the container must end with it
        self._lifeline = lifeline
        self._launch = TopologyLaunch.read(launch_file)
        self._tree = Tree(self._launch.topology)
        self._container = container
        self._state = state
        self._config = Config.from_plain(self._launch.config)
        self._child_command = child
        self._wakeup = Wakeup()
        self._zygote_client = zygote_client
        self._record = ExecutorRecord(state, self._launch.topology, container)
        silence = self._config.number("container.silence")
        self._heartbeat = HeartbeatNode(state, self._tree.pulse(container), silence)
        self._beat_at = 0.0
        self._supervisor = Supervisor(
            container,
            self._record.incarnation,
            RestartPolicy.of(self._config),
            silence,
            self._start_child,
            lambda name: str(self._launch.logs / f"{name}.log"),
        )
        keeps = container == 0 and self._launch.keeper == "master"
        self._keeper = SchedulerWatchdog(launch_file, self._launch, state) if keeps else None
        self._patience = self._config.number("kill.timeout")
        self._log_caps = log_caps(self._config)
        #: exits of children whose start is not confirmed yet
        self._early: dict[int, int] = {}
        self._publish_at = 0.0
        #: how many ends of children have been reported, or were tried to be
        self._ends = 0
        self._stopping = False
        #: when to read the plan; None while it has not changed
        self._read_plan_at: float | None = 0.0
        self._touched = False
        self._exit_code = 0
        self._definition: LogicalPlan | None = None
        self._packing: PackingPlan | None = None
        self._mender = self._holding(read_execution(state, self._launch.topology))

    def _holding(self, execution: Execution | None) -> Mender:
        """The nodes that this process can write again when they are damaged and no master does."""
        mender, tree = Mender(self._state), self._tree
        if execution is not None and execution.id == self._launch.execution:
            mender.hold(tree.execution, Execution, lambda: NODE.encode(execution))
        mender.hold(
            tree.definition, LogicalPlan, lambda: self._definition.to_json() if self._definition else b""
        )
        mender.hold(tree.packing_plan, PackingPlan, self._packing_in_force)
        return mender

    def run(self) -> int:
        """One turn after the other until asked to stop, then until no child is left."""
        self._startup()
        while not self._stopping:
            self._turn()
        self._supervisor.want((), _clock(), self._patience)
        while not self._supervisor.idle():
            if self._exit_code == FENCED:
                self._supervisor.kill_all()
            self._turn()
        self._shutdown()
        return self._exit_code

    def _startup(self) -> None:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._wakeup.on_signals()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_stop_signal)
        # a handler of any kind makes the signal write its wake-up byte
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for path in (self._tree.packing_plan, self._tree.update):
            self._state.watch(path, self._on_plan_watch)
        if self._keeper is not None:
            self._keeper.watch(self._wakeup.wake)
        self._state.watch(self._record.path, self._on_record_watch)

    def _turn(self) -> None:
        clock = _clock()
        if self._read_plan_at is not None and self._read_plan_at <= clock.now and not self._stopping:
            self._read_plan(clock)
        beaten = [each for each, line in self._supervisor.lifelines() if has_beaten(line)]
        self._supervisor.hear(beaten, clock)
        # Before a successor starts, so that its effects are never visible before the end that caused them.
        self._publish(clock)
        self._supervisor.tick(clock)
        silent_after = self._zygote_client.silent_after()
        if silent_after is not None and silent_after <= clock.now:
            self._zygote_client.kill()
        if self._keeper is not None and not self._stopping:
            self._keeper.tick(clock.now)
        if self._beat_at <= clock.now:
            self._beat(clock)
        self._publish(clock)
        self._wait(clock.now)
        self._take_replies()
        self._reap()

    def _wait(self, now: float) -> None:
        deadlines = [self._supervisor.next_deadline(), self._zygote_client.silent_after(), self._read_plan_at]
        deadlines.append(self._beat_at)
        if self._keeper is not None:
            deadlines.append(self._keeper.next_deadline())
        if self._publish_at:
            deadlines.append(self._publish_at)
        soonest = min((each for each in deadlines if each is not None), default=None)
        timeout = None if soonest is None else max(0.0, soonest - now)
        with selectors.DefaultSelector() as selector:
            selector.register(self._wakeup, selectors.EVENT_READ)
            if self._zygote_client.fileno() >= 0:
                selector.register(self._zygote_client, selectors.EVENT_READ)
            if self._lifeline is not None and not self._stopping:
                selector.register(self._lifeline, selectors.EVENT_READ)
            ready = [key.fd for key, _ in selector.select(timeout)]
        if self._lifeline in ready and not os.read(self._lifeline, 4096):
            log.warning("the process that started this container is gone: ending")
            self._stopping = True
        self._wakeup.drain()

    def _read_plan(self, clock: Moment) -> None:
        self._read_plan_at = None
        try:
            # the update first: the packing plan changes before it is over, so no child is dropped in between
            update = read(self._state, self._tree.update, Update)
            packing = needed(self._state, self._tree.packing_plan, PackingPlan)
            topology = self._definition = needed(self._state, self._tree.definition, LogicalPlan)
            start = self._config.text("container.start")
            wanted = wanted_children(self._container, packing_to_run(packing, update), topology, start)
        except NodeMissing:
            # between two steps of a submit or a kill: the watch fires when that has passed
            return
        except HeronError as error:
            log.error("cannot apply the plan: %s", error)
            self._read_plan_at = clock.now + STATE_RETRY
            return
        self._packing = packing
        self._supervisor.want(wanted, clock, self._patience)

    def _packing_in_force(self) -> bytes:
        """The packing plan as it was read; empty when it may have changed since."""
        plan = reported(self._state, self._tree.physical_plan, PhysicalPlan)
        known = self._packing
        return known.to_json() if known and plan and plan.epoch == known.epoch else b""

    def _start_child(self, wanted: DesiredChild, start: Start, lifeline: int) -> None:
        try:
            if wanted.start == "zygote":
                self._zygote_client.fork(start, lifeline)
                return
            pid = spawn(self._launch_file, start, lifeline, self._child_command)
            self._supervisor.on_started(start.child.incarnation, pid, _clock())
        except OSError as error:
            # a fresh process, be it the child or the zygote, could not be started; the others run on
            for incarnation in {start.child.incarnation, *self._zygote_client.close()}:
                self._supervisor.on_start_failed(incarnation, str(error), _clock())

    def _take_replies(self) -> None:
        clock = _clock()
        try:
            replies = self._zygote_client.replies()
        except PeerLost as error:
            self._on_zygote_lost(str(error), clock)
            return
        for reply in replies:
            if not reply.pid:
                self._supervisor.on_start_failed(reply.incarnation, reply.error, clock)
                continue
            self._supervisor.on_started(reply.incarnation, reply.pid, clock)
            if reply.pid in self._early:
                self._supervisor.on_exit(reply.pid, self._early.pop(reply.pid), clock)

    def _on_zygote_lost(self, reason: str, clock: Moment) -> None:
        """Running children are not affected. One forked without a reply must not run beside its successor."""
        unanswered = self._zygote_client.close()
        if unanswered:
            end_strangers(self._supervisor.pids(), same_session=self._container == 0)
        for incarnation in unanswered:
            self._supervisor.on_start_failed(incarnation, reason, clock)

    def _reap(self) -> None:
        clock = _clock()
        for pid, status in reap():
            if not self._supervisor.on_exit(pid, status, clock):
                self._early[pid] = status
        if not self._zygote_client.waiting():
            self._early.clear()

    def _beat(self, clock: Moment) -> None:
        """Write the heartbeat that the scheduler's process reads."""
        self._beat_at = clock.now + self._heartbeat.interval
        # children do so for their own output, but not for that of the processes they start
        cap_logs(self._launch.logs, self._log_caps)
        self._mender.look()
        # no event tells of a node that a disk has damaged: the executor's own is read again, too
        self._touched = True
        try:
            self._heartbeat.beat()
        except (VersionConflict, NodeMissing):
            self._fence()
        except StateError as error:
            log.warning("could not write the heartbeat: %s", error)

    def _publish(self, clock: Moment) -> None:
        if self._ends != self._supervisor.ends:
            # an end is reported without delay
            self._ends, self._publish_at = self._supervisor.ends, 0.0
        if clock.now < self._publish_at:
            return
        self._publish_at = 0.0
        if self._exit_code == FENCED:
            return  # nothing in the tree belongs to this executor
        try:
            if self._touched:
                self._touched = False
                if not self._record.is_ours():
                    self._fence()
                    return
            if self._record.publish(self._supervisor.view()):
                self._publish_at = clock.now + PUBLISH_INTERVAL
        except (VersionConflict, NodeMissing):
            self._fence()
        except StateError as error:
            log.warning("could not publish the state of the children: %s", error)
            self._publish_at = clock.now + STATE_RETRY

    def _fence(self) -> None:
        if self._exit_code != FENCED:
            log.error("another executor has this container, or the topology is gone: ending")
        self._stopping, self._exit_code = True, FENCED
        # at once, and no other child is started
        self._supervisor.kill_all()
        self._supervisor.want((), _clock(), self._patience)

    def _shutdown(self) -> None:
        self._zygote_client.close()
        # container 0 may have started the scheduler's process, which must outlive it, in a session of its own
        end_strangers(self._supervisor.pids(), same_session=self._container == 0)
        if self._exit_code == FENCED:
            return
        shutil.rmtree(self._launch.container_sockets(self._container), ignore_errors=True)
        try:
            self._record.retire()
            # registrations of ended children would mislead peers
            folder = f"{self._tree.containers}/{self._container}"
            for name in self._state.children(folder):
                if name != "executor":
                    self._state.delete(f"{folder}/{name}", recursive=True)
        except StateError as error:
            log.warning("could not remove the registrations: %s", error)

    def _on_stop_signal(self, *_: object) -> None:
        self._stopping = True

    def _on_plan_watch(self) -> None:
        self._read_plan_at = 0.0
        self._wakeup.wake()

    def _on_record_watch(self) -> None:
        self._touched = True
        self._wakeup.wake()


def _clock() -> Moment:
    return Moment(time.monotonic(), time.time())


def main(
    argv: Sequence[str],
    roles: Mapping[Role, str] = ROLES,
    zygote: Sequence[str] = ZYGOTE,
    child: Sequence[str] = CHILD,
) -> int:
    """`python -m heronpy.container.executor.main LAUNCH_FILE CONTAINER_ID [--lifeline]`."""
    launch_file, container = os.path.abspath(argv[0]), int(argv[1])
    lifeline = take_lifeline() if "--lifeline" in argv else None
    launch = TopologyLaunch.read_or_exit(launch_file)
    configure_logging(launch)
    config, registry = Config.from_plain(launch.config), installed()
    # imported before the fork, for both; the state manager that is opened after it has threads
    registry.state_manager(config.text("state.manager"))
    zygote_client = ZygoteClient(launch_file, container, zygote)
    zygote_client.fork_zygote(launch, roles)
    state = open_state(config, registry)
    try:
        return run_container(launch_file, container, state, zygote_client, child, lifeline)
    finally:
        state.close()


def take_lifeline() -> int:
    """Standard input, which closes when the parent process is gone; not inherited by children."""
    line = os.dup(0)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    return line


def run_container(
    launch_file: str,
    container: int,
    state: StateManager,
    zygote_client: ZygoteClient,
    child: Sequence[str] = CHILD,
    lifeline: int | None = None,
) -> int:
    """Run the container, unless its topology is gone; returns the exit status."""
    launch = TopologyLaunch.read(launch_file)
    _await_execution(state, launch, container, lifeline)
    if not is_current(state, launch):
        log.error("topology %s is not in the state tree", launch.topology)
        return FENCED
    try:
        make_private(launch.logs)
        make_sockets_folder(launch, container)
    except UserError as error:
        log.error("%s", error)
        return HOPELESS
    return Executor(launch_file, container, state, zygote_client, child, lifeline).run()


def _await_execution(
    state: StateManager, launch: TopologyLaunch, container: int, lifeline: int | None
) -> None:
    """Wait with heartbeats: an executor replaced while it waits for a damaged node would only wait again."""
    try:
        is_current(state, launch)
        return
    except DamagedNode:
        silence = Config.from_plain(launch.config).number("container.silence")
        heartbeat = HeartbeatNode(state, Tree(launch.topology).pulse(container), silence)

    def pause(seconds: float) -> None:
        if lifeline is None:
            time.sleep(seconds)
        elif select.select([lifeline], [], [], seconds)[0]:
            os._exit(FENCED)  # the process that started this container is gone

    with heartbeat.in_background(on_fenced=lambda: os._exit(FENCED)):
        await_execution(state, launch, pause)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
