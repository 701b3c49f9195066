"""A client that the processes of a topology let in."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable

import msgspec

from heronpy.kernel.errors import NodeExists
from heronpy.kernel.plugin.state_manager import StateManager
from heronpy.kernel.transport import Dealer, Reactor, Transport
from heronpy.kernel.tree import Registration, Tree


class Visitor:
    """Has a key that is in the state tree for as long as the visitor is open, and a loop to wait in."""

    def __init__(self, state: StateManager, topology: str) -> None:
        self._state = state
        self._transport = Transport()
        self.reactor = Reactor()
        self._name = uuid.uuid4().hex
        self._node = f"{Tree(topology).clients}/{self._name}"
        self._register()

    def renew(self) -> None:
        """Register again if the state tree took us for dead meanwhile."""
        if self._state.session != self._session:
            self._register()

    def connect(self, to: Registration, on_readable: Callable[[], None]) -> Dealer:
        dealer = self._transport.dealer_tcp(to.endpoint, self._name.encode(), to.public_key)
        self.reactor.register(dealer, on_readable)
        return dealer

    def disconnect(self, dealer: Dealer) -> None:
        self.reactor.unregister(dealer)
        dealer.close()

    def close(self) -> None:
        self._transport.close()
        self.reactor.close()
        self._state.delete(self._node)

    def _register(self) -> None:
        self._session = self._state.session
        registration = Registration(self._transport.keys.public)
        with contextlib.suppress(NodeExists):
            self._state.create(self._node, msgspec.json.encode(registration), ephemeral=True)
