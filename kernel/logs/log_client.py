"""Asks the containers of a topology, wherever they run, for their logs."""

from __future__ import annotations

import time
from collections.abc import Collection
from types import TracebackType
from typing import Self

from heronpy.kernel.client_session import ClientSession
from heronpy.kernel.plugin.state_manager import StateManager
from heronpy.kernel.protocol import LogReply, LogRequest, LogsReply, LogsRequest, unwrap, wrap
from heronpy.kernel.tree.paths import ExecutorNode, Registration, Tree
from heronpy.kernel.tree.registrations import reported

#: seconds that an answer may take; a machine that is gone is given up by the transport after two
PATIENCE = 5.0
#: seconds after which a request is repeated
AGAIN = 0.5
#: seconds after which the registrations are read again
LOOK = 2.0


class LogClient:
    """A registered client of all processes that serve logs. Keep it open between requests."""

    def __init__(self, state: StateManager, topology: str, *, patience: float = PATIENCE) -> None:
        self._state = state
        self._tree = Tree(topology)
        self._session = ClientSession(state, topology)
        self.patience = patience
        self._sources: dict[int, _LogSource] = {}
        self._looked_at = float("-inf")
        self._questions = 0
        #: containers that did not answer the last request
        self.silent: tuple[int, ...] = ()

    def extents(self) -> dict[str, range]:
        """Every log and the positions in it. Waits for all containers, but not again for silent ones."""
        if time.monotonic() - self._looked_at > LOOK:
            self._look()
        number = self._next()
        for source in self._sources.values():
            source.ask(number, wrap(LogsRequest(number=number)))
        self._wait(self._sources.keys() - set(self.silent))
        self.silent = tuple(sorted(k for k, source in self._sources.items() if source.reply is None))
        return {name: source.logs[name] for name, source in self._source_of().items()}

    def read(self, name: str, offset: int, most: int) -> bytes:
        """At most `most` bytes of a log from this offset on; none if its container does not answer."""
        number = self._next()
        for container, source in self._sources.items():
            if source is self._source_of().get(name):
                source.ask(number, wrap(LogRequest(number=number, name=name, offset=offset, most=most)))
                self._wait([container])
                reply = self._sources[container].reply if container in self._sources else None
                return reply.data if isinstance(reply, LogReply) else b""
        return b""

    def close(self) -> None:
        self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _next(self) -> int:
        self._questions += 1
        return self._questions

    def _source_of(self) -> dict[str, _LogSource]:
        """Log → the container that is asked for it.

        Containers on one machine share its logs, and a container that moved has left some behind. Of several
        that have a log, the one whose process wrote it is asked.
        """
        found: dict[str, _LogSource] = {}
        for _, source in sorted(self._sources.items()):
            found |= {name: source for name in source.logs if name not in found or name in source.processes}
        return found

    def _look(self) -> None:
        """Connect to the process of each container that serves its logs."""
        self._looked_at = time.monotonic()
        self._session.renew()
        containers = {int(name) for name in self._state.children(self._tree.containers)}
        for gone in self._sources.keys() - containers:
            self._sources.pop(gone).close()
        for container in containers:
            path = self._tree.metrics_manager(container) if container else self._tree.master
            registration = reported(self._state, path, Registration)
            known = self._sources.get(container)
            if known is None or known.registration != registration:
                self._sources[container] = _LogSource(self._session, registration, instead_of=known)
            executor = reported(self._state, self._tree.executor(container), ExecutorNode)
            self._sources[container].processes = executor.children if executor is not None else ()

    def _wait(self, containers: Collection[int]) -> None:
        now = time.monotonic()
        deadline, again = now + self.patience, now + AGAIN
        while now < deadline and any(self._owes(container) for container in containers):
            self._session.reactor.turn(min(deadline, again) - now)
            now = time.monotonic()
            if now >= again:
                again = now + AGAIN
                self._look()
                for source in self._sources.values():
                    source.ask_again()

    def _owes(self, container: int) -> bool:
        """Whether it is there, and has not answered yet."""
        return container in self._sources and self._sources[container].reply is None


class _LogSource:
    """The process that serves the logs of one container."""

    def __init__(
        self, session: ClientSession, registration: Registration | None, instead_of: _LogSource | None
    ) -> None:
        self.registration = registration
        self._session = session
        self._dealer = None
        if registration is not None and registration.endpoint:
            self._dealer = session.connect(registration, self._on_readable)
        self._number = 0
        self._question = b""
        #: to the last question
        self.reply: LogsReply | LogReply | None = None
        #: of the last answer: name → positions that can be read
        self.logs: dict[str, range] = {}
        #: names of the container's processes
        self.processes: Collection[str] = ()
        if instead_of is not None:
            instead_of.close()
            self.logs, self.processes = instead_of.logs, instead_of.processes
            self.ask(instead_of._number, instead_of._question)

    def ask(self, number: int, question: bytes) -> None:
        self._number, self._question, self.reply = number, question, None
        self.ask_again()

    def ask_again(self) -> None:
        if self._dealer is not None and self.reply is None and self._question:
            self._dealer.send([self._question])

    def close(self) -> None:
        if self._dealer is not None:
            self._session.disconnect(self._dealer)

    def _on_readable(self) -> None:
        assert self._dealer is not None
        while (parts := self._dealer.receive()) is not None:
            message = unwrap(parts[-1])
            if not isinstance(message, LogsReply | LogReply) or message.number != self._number:
                continue
            self.reply = message
            if isinstance(message, LogsReply):
                self.logs = {log.name: range(log.first, log.bytes) for log in message.logs}
