"""Where clients on other machines ask a container for its logs."""

from __future__ import annotations

import logging
from pathlib import Path

from heronpy.kernel.logs.log_server import LogServer
from heronpy.kernel.plugin.state_manager import StateManager
from heronpy.kernel.protocol import LogRequest, LogsRequest
from heronpy.kernel.protocol.mailbox import Mailbox
from heronpy.kernel.transport import Reactor, Transport
from heronpy.kernel.tree.paths import Tree
from heronpy.kernel.tree.registrations import NodeFollower, client_keys

log = logging.getLogger(__name__)


class LogPort:
    """Listens on TCP for processes that are registered as clients of the topology."""

    def __init__(
        self, logs: Path, tree: Tree, state: StateManager, reactor: Reactor, transport: Transport
    ) -> None:
        self._tree = tree
        self._state = state
        self._gatekeeper = transport.gatekeeper
        self._router = transport.router_tcp()
        self._mailbox = Mailbox(self._router, log)
        self._log_server = LogServer(logs, self._router)
        self._gatekeeper.serve(reactor)
        reactor.register(self._router, self._on_requests)
        NodeFollower(state, reactor, self._admit).follow(tree.clients)
        self._admit()

    @property
    def endpoint(self) -> str:
        return self._router.endpoint

    @property
    def rejected(self) -> int:
        return self._gatekeeper.rejected + self._mailbox.rejected

    def _admit(self) -> None:
        self._gatekeeper.allow(client_keys(self._state, self._tree))

    def _on_requests(self) -> None:
        for identity, message in self._mailbox.messages():
            if isinstance(message, LogsRequest | LogRequest):
                self._log_server.answer(identity, message)
