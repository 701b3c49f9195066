"""The connection of a command to the processes of a topology."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Callable

from heronpy.kernel.errors import NodeExists
from heronpy.kernel.formats import NODE
from heronpy.kernel.plugin.state_manager import StateManager
from heronpy.kernel.transport import Dealer, Reactor, Transport
from heronpy.kernel.tree.paths import Registration, Tree


class ClientSession:
    """Has a reactor to wait in and, for TCP, a key that is in the state tree while the session is open.

    It registers when it first connects over TCP. Asking over a unix socket needs no write, which a full disk
    would refuse.
    """

    def __init__(self, state: StateManager, topology: str) -> None:
        self._state = state
        self._transport = Transport()
        self.reactor = Reactor()
        self._node = f"{Tree(topology).clients}/{uuid.uuid4().hex}"
        #: session of the state tree in which the key is registered
        self._session: int | None = None

    def renew(self) -> None:
        """Register again if the session of the state tree has ended meanwhile."""
        if self._session not in (None, self._state.session):
            self._register()

    def connect(self, to: Registration, on_readable: Callable[[], None]) -> Dealer:
        # another identity each time: an earlier connection may come back at the same moment
        identity = uuid.uuid4().hex.encode()
        if to.local and os.access(to.local, os.W_OK):
            dealer = self._transport.dealer_ipc(to.local, identity)
        else:
            if self._session is None:
                self._register()
            dealer = self._transport.dealer_tcp(to.endpoint, identity, to.public_key)
        self.reactor.register(dealer, on_readable)
        return dealer

    def disconnect(self, dealer: Dealer) -> None:
        self.reactor.unregister(dealer)
        dealer.close()

    def close(self) -> None:
        self._transport.close()
        self.reactor.close()
        if self._session is not None:
            self._state.delete(self._node)

    def _register(self) -> None:
        self._session = self._state.session
        registration = Registration(self._transport.keys.public)
        with contextlib.suppress(NodeExists):
            self._state.create(self._node, NODE.encode(registration), ephemeral=True)
