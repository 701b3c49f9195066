"""The life of a Stream Manager process: control on one side, the forwarder on the other."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

import msgspec

from heronpy.kernel.checkpoints.node import Checkpoints
from heronpy.kernel.config import Config
from heronpy.kernel.errors import DamagedNode
from heronpy.kernel.formats import NODE
from heronpy.kernel.machine.addresses import (
    CONTROL_SOCKET,
    DATA_SOCKET,
    METRICS_SOCKET,
    STREAM_MANAGER,
    container_identity,
    socket_path,
)
from heronpy.kernel.manager_process import manager_process
from heronpy.kernel.master.connection import MasterConnection
from heronpy.kernel.plans import PhysicalPlan
from heronpy.kernel.plugin.state_manager import StateManager
from heronpy.kernel.protocol import (
    CheckpointsNotice,
    ContainerBeat,
    LiveNotice,
    MetricsReport,
    PlanNotice,
    ProcessBeat,
    Sample,
    UpdateNotice,
    wrap,
)
from heronpy.kernel.protocol.mailbox import Mailbox
from heronpy.kernel.transport import Reactor, Transport
from heronpy.kernel.tree.mending import MEND_EVERY, Mender, keep_registered
from heronpy.kernel.tree.paths import RUNNING, Live, Registration, Tree
from heronpy.kernel.tree.registrations import NodeFollower, read
from heronpy.kernel.tree.update import CLOSED, Update
from heronpy.stream_manager.forwarder import Forwarder
from heronpy.stream_manager.peers import Peers
from heronpy.stream_manager.residents import Resident, Residents

if TYPE_CHECKING:
    from heronpy.kernel.launch import Child, TopologyLaunch

log = logging.getLogger(__name__)

#: seconds between two reports to the Topology Master
BEAT = 1.0


def run(launch: TopologyLaunch, child: Child) -> int:
    """Forward frames until the process is ended."""
    with manager_process(launch, child) as process:
        StreamManager(launch, child, *process).startup()
        process.reactor.run()
    return 0


class StreamManager:
    """Serves the instances of one container and reports them to the Topology Master."""

    def __init__(
        self,
        launch: TopologyLaunch,
        child: Child,
        config: Config,
        state: StateManager,
        reactor: Reactor,
        transport: Transport,
    ) -> None:
        self._child = child
        self._config = config
        self._state = state
        self._reactor = reactor
        self._tree = Tree(launch.topology)
        sockets = launch.container_sockets(child.container)
        identity = container_identity(child.container, child.incarnation)
        self._control = transport.router_local(socket_path(sockets, CONTROL_SOCKET))
        self._metrics = transport.dealer_local(socket_path(sockets, METRICS_SOCKET), identity)
        self._peers_router = transport.router_tcp()
        self._keys = transport.keys
        self._gatekeeper = transport.gatekeeper
        self._instances = transport.router_local(socket_path(sockets, DATA_SOCKET))
        self._forwarder = Forwarder(reactor, self._instances, self._peers_router, child.container)
        self._peers = Peers(
            reactor, transport, state, self._tree, self._forwarder, child.container, child.incarnation
        )
        self._master = MasterConnection(transport, state, self._tree, identity)
        self._follower = NodeFollower(state, reactor, self._refresh)
        self._residents = Residents()
        self._plan: PhysicalPlan | None = None
        self._plan_json = b""
        self._plan_notice = PlanNotice()
        self._live = LiveNotice()
        #: the node `live` as it was last read; a new master has no copy of its own
        self._live_node = b""
        self._mender = Mender(state)
        self._mender.hold(self._tree.live, Live, lambda: self._live_node)
        self._checkpoints = CheckpointsNotice()
        self._update = UpdateNotice()
        self._next_plan: PhysicalPlan | None = None
        self._old_plan: PhysicalPlan | None = None
        self._containers: set[int] = set()
        #: whether no update runs
        self._over = True
        self._mailbox = Mailbox(self._control, log)
        self._path = self._tree.stream_manager(child.container)
        self._registration = Registration(
            self._keys.public, child.incarnation, self._peers_router.endpoint, os.getpid()
        )

    def startup(self) -> None:
        self._gatekeeper.serve(self._reactor)
        self._reactor.register(self._control, self._on_control, urgent=True)
        self._reactor.call_every(BEAT, self._report)
        self._reactor.call_every(self._config["metrics.interval"], self._send_metrics)
        if not keep_registered(self._state, self._reactor, self._path, self._registration, self._leave):
            return
        self._reactor.call_every(MEND_EVERY, self._mender.look)
        self._follower.follow(self._tree.physical_plan, self._tree.live, self._tree.master)
        self._follower.follow(self._tree.checkpoints, self._tree.update)
        self._follower.look()

    def _leave(self) -> None:
        log.error("another Stream Manager has this container: ending")
        self._reactor.stop()

    def _refresh(self) -> None:
        """Something in the tree has changed: read all nodes again.

        A damaged node keeps its last known value and does not keep the others from being read.
        """
        damages: list[DamagedNode] = []
        for refresh in (
            self._refresh_plans,
            self._refresh_live,
            self._refresh_checkpoints,
            self._refresh_peers,
            lambda: self._master.refresh(on_connected=self._report),
        ):
            try:
                refresh()
            except DamagedNode as damage:
                damages.append(damage)
        if damages:
            raise damages[0]

    def _refresh_peers(self) -> None:
        if self._plan is not None:
            containers = {where for plan in self._plans() for where in plan.containers()}
            self._follower.follow(*map(self._tree.stream_manager, containers))
            self._follower.leave(*map(self._tree.stream_manager, self._containers - containers))
            self._containers = containers
            self._peers.refresh(sorted(containers))

    def _refresh_plans(self) -> None:
        """Tasks and containers of the plan to come are known before anything is sent to them."""
        # The update first: when it is over, the plan that is read after it is the one that it led to. All is
        # read before anything is routed: the old plan alone would cut off the tasks of the next one.
        update = read(self._state, self._tree.update, Update)
        if update is not None and update.number == self._update.number:
            update = None
        coming = read(self._state, self._tree.next_plan, PhysicalPlan) if update is not None else None
        plan = read(self._state, self._tree.physical_plan, msgspec.Raw)
        notices: list[PlanNotice | UpdateNotice] = []
        if update is not None:
            notices.append(self._take_update(update, coming))
        if plan is not None and bytes(plan) != self._plan_json:
            notices.append(self._take_plan(bytes(plan)))
        if notices:
            self._route()
        for notice in notices:
            self._tell_all(notice)

    def _take_update(self, update: Update, coming: PhysicalPlan | None) -> UpdateNotice:
        self._over = update.phase in CLOSED
        self._next_plan = coming if coming is not None and coming.epoch == update.epoch else None
        next_plan = self._next_plan.to_json() if self._next_plan is not None else b""
        self._update = UpdateNotice(number=update.number, node=update.to_json(), next_plan=next_plan)
        return self._update

    def _take_plan(self, data: bytes) -> PlanNotice:
        plan = PhysicalPlan.from_json(data)
        log.info("plan %d: %d tasks", plan.epoch, len(plan.tasks))
        self._old_plan, self._plan, self._plan_json = self._plan, plan, data
        # as it is stored: every process of the container gets one, and a long plan is compressed
        self._plan_notice = PlanNotice(epoch=plan.epoch, plan=plan.to_json())
        return self._plan_notice

    def _refresh_live(self) -> None:
        live = read(self._state, self._tree.live, Live) or Live(RUNNING)
        self._live_node = NODE.encode(live)
        config = msgspec.json.encode(live.config)
        notice = LiveNotice(state=live.state, number=live.number, config=config)
        if notice != self._live:
            self._live = notice
            self._tell_all(notice)

    def _refresh_checkpoints(self) -> None:
        node = read(self._state, self._tree.checkpoints, Checkpoints) or Checkpoints()
        if node.number != self._checkpoints.number:
            self._checkpoints = CheckpointsNotice(number=node.number, node=node.to_json())
            self._tell_all(self._checkpoints)

    def _plans(self) -> list[PhysicalPlan]:
        """The plan in force; until an update is over, also the ones before and after it."""
        plans = [self._plan] if self._over else [self._plan, self._old_plan, self._next_plan]
        return [plan for plan in plans if plan is not None]

    def _route(self) -> None:
        if self._over:
            self._old_plan = None
        self._forwarder.use_plan(*self._plans())
        self._admit_all()

    def _forget_the_gone(self) -> None:
        """Processes of tasks that have left the plan are not reported any more."""
        if self._plan is not None and self._over:
            self._residents.retain({task.id for task in self._plan.tasks})

    def _admit_all(self) -> None:
        for resident in self._residents.processes():
            self._admit(resident)

    def _admit(self, resident: Resident) -> None:
        beat = resident.beat
        self._forwarder.admit(beat.slot, beat.incarnation, resident.identity, resident.tasks)

    def _tell_all(self, notice: PlanNotice | LiveNotice | CheckpointsNotice | UpdateNotice) -> None:
        for resident in self._residents.processes():
            self._control.send(resident.identity, wrap(notice))

    def _on_control(self) -> None:
        for identity, message in self._mailbox.messages():
            if isinstance(message, ProcessBeat):
                self._on_beat(identity, message)

    def _on_beat(self, identity: bytes, beat: ProcessBeat) -> None:
        change = self._residents.on_beat(identity, beat)
        if change.arrived:
            self._admit(Resident(identity, beat))
        # Notices that a process has not confirmed are sent again with every beat. The update comes first: a
        # new process starts its tasks as soon as it has the others, and must know by then whether its
        # predecessor has handed everything over.
        if beat.update < self._update.number:
            self._control.send(identity, wrap(self._update))
        if self._plan is not None and beat.epoch < self._plan.epoch:
            self._control.send(identity, wrap(self._plan_notice))
        if self._live.state and (beat.live, beat.live_number) != (self._live.state, self._live.number):
            self._control.send(identity, wrap(self._live))
        if beat.checkpoints < self._checkpoints.number:
            self._control.send(identity, wrap(self._checkpoints))
        if change.news:
            self._report()

    def _report(self) -> None:
        self._forget_the_gone()
        self._master.send(
            ContainerBeat(
                container=self._child.container,
                incarnation=self._child.incarnation,
                endpoint=self._peers_router.endpoint,
                processes=[resident.beat for resident in self._residents.processes()],
            )
        )

    def _send_metrics(self) -> None:
        forwarder = self._forwarder
        turned_away = self._gatekeeper.rejected + self._instances.refused + self._control.refused
        counters = {
            "frames": forwarder.frames,
            "bytes": forwarder.bytes,
            "dropped": forwarder.dropped,
            "resent": forwarder.resent,
            "repeated": forwarder.repeated,
            "rejected": forwarder.rejected + turned_away + self._mailbox.rejected,
        }
        samples = [Sample(name=name, value=value, kind="counter") for name, value in counters.items()]
        samples.append(Sample(name="backlog", value=forwarder.backlog, kind="gauge"))
        report = MetricsReport(
            source=STREAM_MANAGER, incarnation=self._child.incarnation, pid=os.getpid(), samples=samples
        )
        self._metrics.send([wrap(report)])
