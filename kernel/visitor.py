"""A client that the processes of a topology let in."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable

import msgspec

from heronpy.kernel.errors import NodeExists
from heronpy.kernel.plugin.state_manager import StateManager
from heronpy.kernel.registrations import read
from heronpy.kernel.transport import Dealer, KeyPair, Reactor, Transport
from heronpy.kernel.tree import Registration, Tree, VisitorKeys


def open_to_visitors(state: StateManager, tree: Tree) -> None:
    """Let in whoever can read the state tree: for one that only this user of this machine can."""
    keys = KeyPair.make()
    state.set(tree.visitor, msgspec.json.encode(VisitorKeys(keys.public, keys.secret_key)))


class Visitor:
    """Has a key that the topology knows, and a loop to wait in.

    The key is the one for all visitors, if the state tree has one: a question then needs no write, which a
    full disk would refuse. Else it is the visitor's own, and in the tree for as long as the visitor is open.
    """

    def __init__(self, state: StateManager, topology: str) -> None:
        self._state = state
        common = read(state, Tree(topology).visitor, VisitorKeys)
        keys = KeyPair(common.public_key, common.secret_key) if common is not None else None
        self._registers = common is None
        self._transport = Transport(keys=keys)
        self.reactor = Reactor()
        self._name = uuid.uuid4().hex
        self._node = f"{Tree(topology).clients}/{self._name}"
        if self._registers:
            self._register()

    def renew(self) -> None:
        """Register again if the state tree took us for dead meanwhile."""
        if self._registers and self._state.session != self._session:
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
        if self._registers:
            self._state.delete(self._node)

    def _register(self) -> None:
        self._session = self._state.session
        registration = Registration(self._transport.keys.public)
        with contextlib.suppress(NodeExists):
            self._state.create(self._node, msgspec.json.encode(registration), ephemeral=True)
