"""The life of a Topology Master process."""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from heronpy.kernel.errors import DamagedNode, MessageTooLarge, NodeExists, PeerLost, StateError
from heronpy.kernel.formats import NODE
from heronpy.kernel.logs.log_server import LogServer
from heronpy.kernel.logs.rate_limited import RateLimitedLog
from heronpy.kernel.machine.addresses import STATUS_SOCKET, socket_path
from heronpy.kernel.manager_process import manager_process
from heronpy.kernel.master.background import BackgroundWorker
from heronpy.kernel.master.containers import Containers
from heronpy.kernel.master.coordinator import Coordinator
from heronpy.kernel.master.fenced_node import Replaced
from heronpy.kernel.master.knowledge.board import Board
from heronpy.kernel.master.master_state import MasterState
from heronpy.kernel.plugin.state_manager import StateManager
from heronpy.kernel.protocol import (
    ContainerBeat,
    ContainerMetrics,
    LogRequest,
    LogsRequest,
    StatusReply,
    StatusRequest,
    wrap,
)
from heronpy.kernel.protocol.mailbox import Mailbox
from heronpy.kernel.status import TopologyStatus
from heronpy.kernel.transport import Reactor, Router, Transport
from heronpy.kernel.tree.mending import MEND_EVERY
from heronpy.kernel.tree.paths import RUNNING, Registration, Tree
from heronpy.kernel.tree.registrations import READ_AGAIN, NodeFollower, client_keys, reported

if TYPE_CHECKING:
    from heronpy.kernel.launch import Child, TopologyLaunch

log = logging.getLogger(__name__)

#: seconds between two checks whether the topology's state has changed, which is logged
TELL = 1.0
#: seconds between two turns of the coordinator without a message: timeouts must be noticed, too
LOOK = 0.1


def run(launch: TopologyLaunch, child: Child) -> int:
    """Run the topology's master until the process is ended."""
    with manager_process(launch, child) as (config, state, reactor, transport):
        logs = launch.logs if launch.remote else None
        local = socket_path(launch.container_sockets(child.container), STATUS_SOCKET)

        def begin() -> None:
            master_state = MasterState(state, Tree(launch.topology), child.incarnation, config)
            TopologyMaster(master_state, reactor, transport, logs, local).startup()

        begin_when_readable(reactor, begin)
        reactor.run()
    return 0


def begin_when_readable(reactor: Reactor, begin: Callable[[], None]) -> None:
    """Begin, or try again and again while a node that is needed is damaged: it may be mended."""
    complaints = RateLimitedLog(log)

    def attempt() -> None:
        try:
            begin()
        except DamagedNode as damage:
            complaints.warning("waiting until it can be read: %s", damage)
            reactor.call_later(READ_AGAIN, attempt)

    attempt()


class TopologyMaster:
    """Receives beats and metrics from all managers, acts on them, and answers status requests."""

    def __init__(
        self,
        master_state: MasterState,
        reactor: Reactor,
        transport: Transport,
        logs: Path | None = None,
        local: str = "",
    ) -> None:
        self._master_state = master_state
        self._tree = master_state.tree
        self._state: StateManager = master_state.state
        self._session = master_state.state.session
        self._reactor = reactor
        self._gatekeeper = transport.gatekeeper
        self._router = transport.router_tcp()
        self._mailbox = Mailbox(self._router, log)
        #: for commands of the same user on this machine, which need not register
        self._local = transport.router_ipc(local) if local else None
        #: for commands on another machine
        self._logs = LogServer(logs, self._router) if logs is not None else None
        self._local_logs = (
            LogServer(logs, self._local) if logs is not None and self._local is not None else None
        )
        self._registration = Registration(
            transport.keys.public, master_state.incarnation, self._router.endpoint, os.getpid(), local
        )
        self._board = Board(master_state.plan, self._header(), time.monotonic())
        self._follower = NodeFollower(self._state, reactor, self._refresh)
        self._containers = Containers(
            master_state, self._board, self._follower, master_state.config["container.lost"]
        )
        #: what the spouts should be doing, as last read
        self._live = RUNNING
        self._complaints = RateLimitedLog(log)
        #: the node that must become readable before this master acts; empty when all are
        self._stuck = "it has not begun"
        #: state and reason, as last logged
        self._told = ""
        self._coordinator = Coordinator(
            master_state, BackgroundWorker(reactor), self._on_plan, self._containers.refresh, time.monotonic()
        )
        master_state.lost = self._board.lost

    def startup(self) -> None:
        self._reactor.call_every(self._containers.interval, self._containers.look_for_lost)
        self._gatekeeper.serve(self._reactor)
        self._reactor.register(self._router, self._on_messages)
        if self._local is not None:
            local, questions = self._local, Mailbox(self._local, log)
            self._reactor.register(local, lambda: self._on_questions(local, questions))
        self._follower.follow(self._tree.clients, self._tree.master, self._tree.live)
        self._follower.follow(self._tree.update, self._tree.update_failure, self._tree.demands)
        self._follower.follow(self._tree.restore)
        self._containers.follow()
        self._admit()
        # Registered before anything is taken over: a replaced master must take over nothing.
        self._register()
        if self._reactor.stopping:
            return
        begin_when_readable(self._reactor, self._begin)

    def _begin(self) -> None:
        """This master acts from here on; DamagedNode if the state of its predecessor cannot be read."""
        try:
            self._master_state.take_over()
        except Replaced as replaced:
            self._leave(replaced)
            return
        except DamagedNode as damage:
            self._stuck = damage.what
            raise
        self._stuck = ""
        self._on_plan()
        self._follower.look()
        self._reactor.call_every(LOOK, self._act)
        self._reactor.call_every(MEND_EVERY, self._mend)
        self._reactor.call_every(TELL, self._tell_changes)
        self._tell_beginning()

    def _mend(self) -> None:
        """Disks do not report damage: check that all nodes whose value is known here are intact."""
        try:
            self._register()
            self._master_state.mend()
        except Replaced as replaced:
            self._leave(replaced)
        except StateError as error:
            self._complaints.warning("could not look for damage: %s", error)

    def _tell_beginning(self) -> None:
        execution, plan = self._master_state.execution, self._master_state.plan
        log.info(
            "%s, submitted by %s at %s: plan %d, %d tasks in %d containers, %s, packing %s, scheduler %s",
            plan.topology,
            execution.submitted_by,
            time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(execution.submitted_at)),
            plan.epoch,
            len(plan.tasks),
            len(plan.containers()),
            plan.logical.reliability,
            execution.packing,
            execution.scheduler,
        )

    def _tell_changes(self) -> None:
        """Log each change of what `status` shows."""
        state, reason = self._state_and_reason()
        told = f"{state}: {reason}" if reason else state
        if told != self._told:
            log.info("%s", told)
        self._told = told

    def _header(self) -> TopologyStatus:
        execution, plan = self._master_state.execution, self._master_state.plan
        return TopologyStatus(
            name=plan.topology,
            state="STARTING",
            submitted_at=execution.submitted_at,
            submitted_by=execution.submitted_by,
            epoch=plan.epoch,
            packing=execution.packing,
            scheduler=execution.scheduler,
            reliability=plan.logical.reliability,
        )

    def _register(self) -> None:
        """Own the master's node: taken from a predecessor that is stopped or dying, left to a successor."""
        while (found := reported(self._state, self._tree.master, Registration)) != self._registration:
            if found is not None and found.incarnation > self._registration.incarnation:
                log.error("another master has this topology: ending")
                self._reactor.stop()
                return
            if not self._state.exists(self._tree.execution):
                log.error("the topology is gone: ending")
                self._reactor.stop()
                return
            self._state.delete(self._tree.master)
            with contextlib.suppress(NodeExists):
                value = NODE.encode(self._registration)
                self._state.create(self._tree.master, value, ephemeral=True)

    def _on_plan(self) -> None:
        """Another plan is in force, or to come."""
        self._board.use_plan(self._master_state.plan, self._master_state.replaced())
        self._containers.follow()

    def _refresh(self) -> None:
        """Read again the keys that are admitted, the executors' children and pending requests."""
        if self._state.session != self._session:
            # A successor may own the node already, or takes it once the executor has seen this one end.
            log.error("the state tree has ended this master's session: ending")
            self._reactor.stop()
            return
        self._admit()
        self._read_live()
        self._containers.refresh()
        self._register()
        if not self._reactor.stopping:
            self._act(refreshed=True)

    def _admit(self) -> None:
        self._gatekeeper.allow([*self._containers.keys(), *client_keys(self._state, self._tree)])

    def _act(self, *, refreshed: bool = False) -> None:
        if self._stuck:
            return
        try:
            if refreshed:
                self._coordinator.refresh()
            self._coordinator.look(time.monotonic())
        except Replaced as replaced:
            self._leave(replaced)
        except StateError as error:
            # decided again at the next turn: a write that did happen is then found by its version
            self._complaints.warning("could not act: %s", error)

    def _leave(self, replaced: Replaced) -> None:
        log.error("%s: ending", replaced)
        self._reactor.stop()

    def _on_container(self, beat: ContainerBeat) -> None:
        if self._board.on_container(beat, time.monotonic()):
            self._master_state.roster.on_container(beat)
            self._containers.on_heard(beat.container)

    def _on_messages(self) -> None:
        for identity, message in self._mailbox.messages():
            if isinstance(message, ContainerBeat):
                self._on_container(message)
            elif isinstance(message, ContainerMetrics):
                self._board.on_metrics(message, time.monotonic())
            elif isinstance(message, StatusRequest):
                self._answer(self._router, identity)
            elif isinstance(message, LogsRequest | LogRequest) and self._logs is not None:
                self._logs.answer(identity, message)
        self._act()

    def _on_questions(self, router: Router, questions: Mailbox) -> None:
        for identity, message in questions.messages():
            if isinstance(message, StatusRequest):
                self._answer(router, identity)
            elif isinstance(message, LogsRequest | LogRequest) and self._local_logs is not None:
                self._local_logs.answer(identity, message)

    def _answer(self, router: Router, identity: bytes) -> None:
        try:
            self._read_live()
            router.send(identity, wrap(StatusReply(status=self._status().to_json())))
        except PeerLost:
            return  # it has not waited for the answer
        except MessageTooLarge as error:
            log.error("the status cannot be sent: %s", error)

    def _read_live(self) -> None:
        with contextlib.suppress(StateError):
            live = self._master_state.live()
            self._live = live.state if live is not None else RUNNING

    def _state_and_reason(self) -> tuple[str, str]:
        update = self._master_state.updating
        self._board.excused = update.containers if update is not None else ()
        if trouble := self._stuck or self._coordinator.trouble:
            return "DEGRADED", trouble
        return self._board.state(time.monotonic(), self._live)

    def _status(self) -> TopologyStatus:
        """What is known here, without reading the state tree."""
        state, reason = self._state_and_reason()  # before all else: it says which containers are excused
        return msgspec.structs.replace(
            self._board.status(time.monotonic(), time.time(), self._live),
            state=state,
            reason=reason,
            rejected=self._gatekeeper.rejected + self._mailbox.rejected,
            checkpoints=self._coordinator.checkpoint_status(time.monotonic()),
            update=self._coordinator.update_status(),
            damage=self._master_state.mender.mended,
        )
