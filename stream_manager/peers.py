"""The other containers: their registrations, the allow-list, and a connection to each."""

from __future__ import annotations

import functools
import logging

from heronpy.kernel.errors import DamagedNode
from heronpy.kernel.machine.addresses import container_identity
from heronpy.kernel.plugin.state_manager import StateManager
from heronpy.kernel.transport import Dealer, Reactor, Transport
from heronpy.kernel.tree.paths import Registration, Tree
from heronpy.kernel.tree.registrations import read
from heronpy.stream_manager.forwarder import Forwarder

log = logging.getLogger(__name__)


class Peers:
    """Keeps connections in step with what the other Stream Managers have published of themselves."""

    def __init__(
        self,
        reactor: Reactor,
        transport: Transport,
        state: StateManager,
        tree: Tree,
        forwarder: Forwarder,
        container: int,
        incarnation: int,
    ) -> None:
        self._reactor = reactor
        self._transport = transport
        self._state = state
        self._tree = tree
        self._forwarder = forwarder
        self._container = container
        self._identity = container_identity(container, incarnation)
        self._known: dict[int, Registration] = {}
        self._dealers: dict[int, Dealer] = {}
        #: containers that have left the plan and may come back, as last registered
        self._parted: dict[int, Registration] = {}

    def refresh(self, containers: list[int]) -> None:
        """Read all registrations again: renew the allow-list, connect to new processes."""
        registered: dict[int, Registration] = {}
        for container in containers:
            registration = self._registered(container)
            if container != self._container and registration is not None:
                registered[container] = registration
        self._transport.gatekeeper.allow(registration.public_key for registration in registered.values())
        for container, registration in registered.items():
            if self._known.get(container) != registration:
                self._connect(container, registration)
        for container in self._dealers.keys() - set(containers):
            self._disconnect(container)
        for container in self._known.keys() - set(containers):
            self._parted[container] = self._known[container]
        self._known = registered
        self._forget_the_ended(containers)

    def _registered(self, container: int) -> Registration | None:
        """The last known registration while the node is damaged: its owner writes it again."""
        try:
            return read(self._state, self._tree.stream_manager(container), Registration)
        except DamagedNode as damage:
            log.warning("%s", damage)
            return self._known.get(container) or self._parted.get(container)

    def _forget_the_ended(self, containers: list[int]) -> None:
        for container, registration in list(self._parted.items()):
            if container in containers:
                del self._parted[container]
            elif self._registered(container) != registration:
                del self._parted[container]
                self._forwarder.forget(container)

    def _connect(self, container: int, registration: Registration) -> None:
        log.info("container %d is at %s", container, registration.endpoint)
        self._disconnect(container)
        dealer = self._transport.dealer_tcp(registration.endpoint, self._identity, registration.public_key)
        self._dealers[container] = dealer
        self._reactor.register(dealer, functools.partial(self._forwarder.on_replies, container))
        key = registration.public_key
        self._forwarder.connect(container, registration.incarnation, dealer, key)

    def _disconnect(self, container: int) -> None:
        dealer = self._dealers.pop(container, None)
        if dealer is not None:
            self._reactor.unregister(dealer)
            dealer.close()
