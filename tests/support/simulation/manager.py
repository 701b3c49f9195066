"""A simulated Stream Manager: the engine's own forwarder, peers and residents on simulated sockets."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

import msgspec
from support.simulation.reactor import SimulatedReactor
from support.simulation.sockets import Parts, SimulatedDealer, SimulatedRouter
from support.simulation.world import Process

from heronpy.kernel.machine.addresses import incarnation_of
from heronpy.kernel.protocol import ProcessBeat
from heronpy.kernel.tree.paths import Registration, Tree
from heronpy.stream_manager.forwarder import Forwarder
from heronpy.stream_manager.peers import Peers
from heronpy.stream_manager.residents import Residents

if TYPE_CHECKING:
    from support.simulation.cluster import Cluster, Pod

_who = functools.cache(incarnation_of)


class Gatekeeper:
    """The allow-list of a listener."""

    def __init__(self) -> None:
        self.allowed: set[str] = set()

    def allow(self, keys: Iterable[str]) -> None:
        self.allowed.clear()
        self.allowed.update(keys)


class PeerTransport:
    """What the engine's Peers connect through."""

    def __init__(self, manager: Manager) -> None:
        self._manager = manager
        self.gatekeeper = manager.gatekeeper

    def dealer_tcp(self, endpoint: str, identity: bytes, server_key: str) -> SimulatedDealer:
        del server_key
        return self._manager.dealer(endpoint, identity)


class Manager(Process):
    """One Stream Manager in one incarnation."""

    def __init__(self, cluster: Cluster, pod: Pod, incarnation: int) -> None:
        super().__init__(cluster.world, f"manager-{pod.name}#{incarnation}")
        self._cluster = cluster
        self._pod = pod
        self.incarnation = incarnation
        self._key = f"key-{self.name}"
        self._dealers: list[SimulatedDealer] = []
        self.gatekeeper = Gatekeeper()
        self._reactor = SimulatedReactor(self)
        self._instances = SimulatedRouter(self, pod.data)
        self._peers_router = SimulatedRouter(self, f"tcp-{self.name}")
        reactor, network = cast("Any", self._reactor), cluster.network
        network.listen(pod, self._instances)
        network.listen(pod, self._peers_router, self.gatekeeper.allowed)
        self.forwarder = Forwarder(
            reactor,
            cast("Any", self._instances),
            cast("Any", self._peers_router),
            pod.container,
            self.now,
        )
        self.forwarder.use_plan(cluster.plan)
        self._tree = Tree(cluster.plan.topology)
        self._peers = Peers(
            reactor,
            cast("Any", PeerTransport(self)),
            cast("Any", cluster.state),
            self._tree,
            self.forwarder,
            pod.container,
            incarnation,
        )
        self._residents = Residents()
        #: newest incarnation in each slot and container that we have been told of
        self._newest: dict[tuple[bytes, int], int] = {}
        #: prefixes that came from somebody whom we know to be replaced; kept, so that no other has their id
        self._fenced: dict[int, bytes] = {}
        for router in (self._instances, self._peers_router):
            router.on_receive = self._on_receive
        self._instances.on_send = self._on_send

    def register(self) -> None:
        """Publish where we are."""
        registration = Registration(self._key, self.incarnation, self._peers_router.endpoint, 1)
        path = self._tree.stream_manager(self._pod.container)
        self._cluster.state.set(path, msgspec.json.encode(registration))

    def refresh(self) -> None:
        """Registrations have changed."""
        self.post(self._refresh)

    def on_beat(self, identity: bytes, beat: ProcessBeat) -> None:
        self.post(lambda: self._on_beat(identity, beat))

    def dealer(self, endpoint: str, identity: bytes) -> SimulatedDealer:
        dealer = SimulatedDealer(self, self._cluster.network, endpoint, identity, self._key)
        dealer.on_send = self._on_send
        self._dealers.append(dealer)
        return self._cluster.network.dealer(self._pod, dealer)

    def turn(self) -> float:
        self._reactor.turn(0)
        return self._reactor.next_due()

    def on_killed(self) -> None:
        for dealer in self._dealers:
            dealer.close()
        for router in (self._instances, self._peers_router):
            self._cluster.network.close(router)

    def _refresh(self) -> None:
        self._peers.refresh(self._cluster.plan.containers())
        for container, incarnation in self._cluster.state.managers(self._tree).items():
            if container != self._pod.container:
                self._newest[b"c", container] = incarnation

    def _on_beat(self, identity: bytes, beat: ProcessBeat) -> None:
        if self._residents.on_beat(identity, beat).arrived:
            tasks = [instance.task for instance in beat.instances]
            self.forwarder.admit(beat.slot, beat.incarnation, identity, tasks)
            self._newest[b"p", beat.slot] = beat.incarnation

    def _on_receive(self, identity: bytes, parts: Parts) -> None:
        number, incarnation = _who(identity)
        if len(parts) > 1 and incarnation < self._newest.get((identity[:1], number), 0):
            self._fenced[id(parts[-2])] = parts[-2]
            self._cluster.fenced += 1

    def _on_send(self, parts: Parts) -> None:
        if self._fenced and len(parts) > 1 and id(parts[-2]) in self._fenced:
            self._cluster.ledger.violations.append(f"fence: {self.name} forwarded a replaced process's frame")
