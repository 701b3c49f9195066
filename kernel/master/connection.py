"""A connection to the Topology Master that follows it from one process to the next."""

from __future__ import annotations

import logging
from collections.abc import Callable

from heronpy.kernel.errors import MessageTooLarge
from heronpy.kernel.logs.rate_limited import RateLimitedLog
from heronpy.kernel.plugin.state_manager import StateManager
from heronpy.kernel.protocol import Body, wrap
from heronpy.kernel.transport import Dealer, Transport
from heronpy.kernel.tree.paths import Registration, Tree
from heronpy.kernel.tree.registrations import reported

log = logging.getLogger(__name__)


class MasterConnection:
    """Sends to the registered master; sends nothing while there is none."""

    def __init__(self, transport: Transport, state: StateManager, tree: Tree, identity: bytes) -> None:
        self._transport = transport
        self._state = state
        self._path = tree.master
        self._identity = identity
        self._known: Registration | None = None
        self.dealer: Dealer | None = None
        self._complaints = RateLimitedLog(log)

    def refresh(self, on_connected: Callable[[], None]) -> None:
        """Look whether the master is another one by now."""
        registration = reported(self._state, self._path, Registration)
        if registration is None or registration == self._known:
            return
        if self.dealer is not None:
            self.dealer.close()
        self._known = registration
        self.dealer = self._transport.dealer_tcp(
            registration.endpoint, self._identity, registration.public_key
        )
        on_connected()

    def send(self, body: Body) -> None:
        """A message that a full or missing connection loses: whatever is sent here is sent again soon."""
        if self.dealer is None:
            return
        try:
            self.dealer.send([wrap(body)])
        except MessageTooLarge as error:
            self._complaints.warning("%s not sent: %s", type(body).__name__, error)
