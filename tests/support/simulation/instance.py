"""A simulated instance: the engine's own task and link, with a simulated socket below."""

from __future__ import annotations

from threading import get_ident
from typing import TYPE_CHECKING, Any, cast

from support.simulation.components import Ledger, Numbers, Relay, Sink, Source
from support.simulation.reactor import SimulatedReactor
from support.simulation.sockets import SimulatedDealer
from support.simulation.world import Process

from heronpy.instances.execution.one_task import OneTask
from heronpy.instances.output.outbox import Stopping
from heronpy.instances.process.socket_link import SocketLink
from heronpy.instances.task.build import Task, build_task
from heronpy.kernel.machine.addresses import process_identity
from heronpy.kernel.protocol import InstanceBeat, ProcessBeat

if TYPE_CHECKING:
    from support.simulation.cluster import Cluster, Pod

#: how often it tells its Stream Manager that it is there
BEAT = 1.0

CLASSES: dict[str, type[Any]] = {"sim.Numbers": Numbers, "sim.Relay": Relay, "sim.Sink": Sink}


class Instance(Process):
    """One task in one incarnation."""

    def __init__(self, cluster: Cluster, pod: Pod, task_id: int, incarnation: int) -> None:
        label = cluster.plan.task(task_id).label
        super().__init__(cluster.world, f"{label}#{incarnation}")
        self.task_id = task_id
        self.pod = pod
        self.incarnation = incarnation
        self.ledger: Ledger = cluster.ledger
        self.burst = cluster.shape.burst
        self.cost = cluster.costs[cluster.plan.task(task_id).component]
        self.identity = process_identity(task_id, incarnation)
        dealer = SimulatedDealer(self, cluster.network, pod.data, self.identity)
        self._dealer = cluster.network.dealer(pod, dealer)
        self._reactor = SimulatedReactor(self, self._on_idle)
        #: when the turn in hand would have ended its wait; 0 if it does not wait
        self._resting_until = 0.0
        link = SocketLink(cast("Any", self._reactor), cast("Any", self._dealer))
        self.task: Task = build_task(
            cluster.plan,
            task_id,
            incarnation,
            link,
            cluster.shape.flow,
            CLASSES.__getitem__,
            self.now,
            self.world.dice.randrange,
        )
        link.handler = self.task.on_frame
        self._loop = OneTask(self.task.loop, link)
        cast("Any", self.task.component).host = self
        self._source = cluster.sources.get(task_id)
        beat = InstanceBeat(task=task_id, state="running")
        self._beat = ProcessBeat(slot=task_id, incarnation=incarnation, pid=1, instances=[beat])
        self._initialized = False
        self._master = cluster.losses
        self.task.parts.counters.on_loss = self._tell_losses
        self._tell_losses()
        self.world.after(0.005 * self.world.dice.random(), self.beat)
        self.wake(self.world.now)

    @property
    def source(self) -> Source:
        assert self._source is not None
        return self._source

    def beat(self) -> None:
        """From the control thread, which works on whatever the task does; not when it is frozen."""
        if self.alive:
            manager = self.pod.manager
            if manager is not None and not self.frozen:
                manager.on_beat(self.identity, self._beat)
            self.world.after(BEAT, self.beat)

    def turn(self) -> float:
        # A task belongs to the thread that made it; ours may take each turn on another.
        self.task.parts.collector._thread[0] = get_ident()
        self._resting_until = 0.0
        try:
            if not self._initialized:
                self._initialized = True
                self.task.initialize()
            self._loop.step()
        except Stopping:
            return self.now()
        return min(self._resting_until, self._reactor.next_due())

    def _tell_losses(self) -> None:
        """A beat that the master hears at once; of a replaced instance it takes none."""
        counters = self.task.parts.counters
        counts = {name: getattr(counters, name) for name in ("missing", "maybe_lost", "exposed")}
        beat = InstanceBeat(task=self.task_id, **counts)
        process = ProcessBeat(slot=self.task_id, incarnation=self.incarnation, instances=[beat])
        self._master.on_beat(process, self.world.now)

    def on_killed(self) -> None:
        self._dealer.close()

    def _on_idle(self, until: float) -> None:
        """Inside emit() the task really waits; anywhere else it does so between two turns."""
        if self.task.parts.outbox.held_up_by is None:
            self._resting_until = until
        else:
            self.wait(min(until, self._reactor.next_due()))
            self.task.parts.collector._thread[0] = get_ident()
