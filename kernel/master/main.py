"""The life of a Topology Master process."""

from __future__ import annotations

import contextlib
import logging
import os
import time
from typing import TYPE_CHECKING

import msgspec

from heronpy.kernel.addresses import STREAM_MANAGER, manager_name
from heronpy.kernel.config import Config
from heronpy.kernel.errors import MessageTooLarge, NodeExists, NodeMissing
from heronpy.kernel.lifeline import hold
from heronpy.kernel.mailbox import Mailbox
from heronpy.kernel.master.board import Board
from heronpy.kernel.master.lost import LostContainers
from heronpy.kernel.plans import LogicalPlan, PackingPlan, PhysicalPlan, physical_plan
from heronpy.kernel.plugin.opening import open_state
from heronpy.kernel.plugin.state_manager import StateManager
from heronpy.kernel.protocol import ContainerBeat, ContainerMetrics, StatusReply, StatusRequest, wrap
from heronpy.kernel.registrations import Follower, read
from heronpy.kernel.requests import request_replacement, withdraw_replacement
from heronpy.kernel.status import TopologyStatus
from heronpy.kernel.transport import Reactor, Transport
from heronpy.kernel.tree import RUNNING, ChildView, Execution, ExecutorNode, Live, Registration, Tree

if TYPE_CHECKING:
    from heronpy.container.launch import Child, TopologyLaunch

log = logging.getLogger(__name__)


def run(launch: TopologyLaunch, child: Child) -> int:
    """Run the topology's master until told to end."""
    config = Config.from_plain(launch.config)
    state = open_state(config)
    reactor = Reactor()
    reactor.stop_on_signals()
    hold(reactor, child.lifeline, config["container.silence"])
    transport = Transport(
        host=config["transport.host"],
        port=config["transport.port"],
        max_bytes=config["transport.frame_bytes"],
        handshake=config["transport.handshake"],
    )
    with transport:
        master = TopologyMaster(Tree(launch.topology), child.incarnation, state, reactor, transport)
        master.startup(config["container.lost"])
        reactor.run()
    state.close()
    reactor.close()
    return 0


class TopologyMaster:
    """Hears from Stream Managers and Metrics Managers, answers whoever asks."""

    def __init__(
        self, tree: Tree, incarnation: int, state: StateManager, reactor: Reactor, transport: Transport
    ) -> None:
        self._tree = tree
        self._state = state
        self._reactor = reactor
        self._gatekeeper = transport.gatekeeper
        self._keys = transport.keys
        self._router = transport.router_tcp()
        self._plan = self._written_plan()
        self._board = Board(self._plan, self._header(), time.time())
        self._follower = Follower(state, reactor, self._refresh)
        self._mailbox = Mailbox(self._router, log)
        #: by container: the incarnation of its executor, and restarts of its Stream Manager
        self._starts: dict[int, tuple[int, int]] = {}
        self._registration = Registration(self._keys.public, incarnation, self._router.endpoint, os.getpid())

    def startup(self, lost: float) -> None:
        self._lost = LostContainers(self._plan.containers(), lost)
        self._board.asked = self._lost.asked
        self._reactor.call_every(self._lost.interval, self._look_for_lost)
        self._gatekeeper.serve(self._reactor)
        self._reactor.register(self._router, self._on_messages)
        for container in self._plan.containers():
            self._follower.follow(
                self._tree.stream_manager(container),
                self._tree.metrics_manager(container),
                self._tree.executor(container),
                self._tree.given_up(container),
            )
        self._follower.follow(self._tree.clients, self._tree.master)
        self._refresh()

    def _written_plan(self) -> PhysicalPlan:
        """The plan that is in force, or the first one of this topology."""
        try:
            return PhysicalPlan.from_json(self._state.get(self._tree.physical_plan).value)
        except NodeMissing:
            logical = LogicalPlan.from_json(self._state.get(self._tree.definition).value)
            packing = PackingPlan.from_json(self._state.get(self._tree.packing_plan).value)
            plan = physical_plan(logical, packing)
            self._state.create(self._tree.physical_plan, plan.to_json())
            return plan

    def _header(self) -> TopologyStatus:
        execution = read(self._state, self._tree.execution, Execution)
        assert execution is not None
        return TopologyStatus(
            name=self._plan.topology,
            state="STARTING",
            submitted_at=execution.submitted_at,
            submitted_by=execution.submitted_by,
            epoch=self._plan.epoch,
            packing=execution.packing,
            scheduler=execution.scheduler,
            reliability=self._plan.logical.reliability,
        )

    def _register(self) -> None:
        """Hold the master's node: against a predecessor that is stopped or dying, not against a successor."""
        while (found := read(self._state, self._tree.master, Registration)) != self._registration:
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
                value = msgspec.json.encode(self._registration)
                self._state.create(self._tree.master, value, ephemeral=True)

    def _refresh(self) -> None:
        """Who may talk to us, and what the executors say of their children."""
        keys = [
            registration.public_key
            for container in self._plan.containers()
            for path in (self._tree.stream_manager(container), self._tree.metrics_manager(container))
            if (registration := read(self._state, path, Registration)) is not None
        ]
        for client in self._state.children(self._tree.clients):
            registration = read(self._state, f"{self._tree.clients}/{client}", Registration)
            if registration is not None:
                keys.append(registration.public_key)
        self._gatekeeper.allow(keys)
        self._board.children = self._children()
        self._board.given_up = self._given_up()
        self._register()

    def _children(self) -> dict[str, ChildView]:
        children: dict[str, ChildView] = {}
        for container in self._plan.containers():
            published = read(self._state, self._tree.executor(container), ExecutorNode)
            if published is not None:
                children.update(published.children)
                self._note_starts(container, published)
        return children

    def _note_starts(self, container: int, executor: ExecutorNode) -> None:
        """A container that is new, or whose Stream Manager is started again and again, is not lost."""
        manager = executor.children.get(manager_name(STREAM_MANAGER, container))
        starts = executor.incarnation, manager.restarts if manager is not None else 0
        if self._starts.get(container) != starts:
            self._starts[container] = starts
            self._lost.on_started(container)

    def _given_up(self) -> dict[int, str]:
        found: dict[int, str] = {}
        for container in self._plan.containers():
            with contextlib.suppress(NodeMissing):
                found[container] = self._state.get(self._tree.given_up(container)).value.decode()
        return found

    def _look_for_lost(self) -> None:
        for container, why in self._lost.look(time.monotonic(), self._hopeless()).items():
            log.warning("container %d: %s, asking for another", container, why)
            request_replacement(self._state, self._plan.topology, container, why)

    def _hopeless(self) -> set[int]:
        """Containers that were given up, or whose Stream Manager was."""
        managers = {
            container: self._board.children.get(manager_name(STREAM_MANAGER, container))
            for container in self._plan.containers()
        }
        given_up = {
            each for each, child in managers.items() if child is not None and child.state == "given_up"
        }
        return given_up | set(self._board.given_up)

    def _on_container(self, beat: ContainerBeat) -> None:
        if self._board.on_container(beat, time.time()) and self._lost.on_heard(beat.container):
            withdraw_replacement(self._state, self._plan.topology, beat.container)

    def _on_messages(self) -> None:
        for identity, message in self._mailbox.messages():
            if isinstance(message, ContainerBeat):
                self._on_container(message)
            elif isinstance(message, ContainerMetrics):
                self._board.on_metrics(message, time.time())
            elif isinstance(message, StatusRequest):
                self._answer(identity)

    def _answer(self, identity: bytes) -> None:
        try:
            self._router.send(identity, wrap(StatusReply(status=self._status().to_json())))
        except MessageTooLarge as error:
            log.error("the status cannot be sent: %s", error)

    def _status(self) -> TopologyStatus:
        live = read(self._state, self._tree.live, Live)
        status = self._board.status(time.time(), live.state if live is not None else RUNNING)
        return msgspec.structs.replace(status, rejected=self._gatekeeper.rejected + self._mailbox.rejected)
