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
#: seconds after which a question is asked again
AGAIN = 0.5
#: seconds after which we look again who is there
LOOK = 2.0


class LogClient:
    """A registered client of everybody who has logs. Keep it for as long as you ask questions."""

    def __init__(self, state: StateManager, topology: str, *, patience: float = PATIENCE) -> None:
        self._state = state
        self._tree = Tree(topology)
        self._visitor = ClientSession(state, topology)
        self.patience = patience
        self._desks: dict[int, _Desk] = {}
        self._looked_at = float("-inf")
        self._questions = 0
        #: containers that have not answered the last time
        self.silent: tuple[int, ...] = ()

    def extents(self) -> dict[str, range]:
        """Every log and the positions in it. Waits for all, but not again for those that were silent."""
        if time.monotonic() - self._looked_at > LOOK:
            self._look()
        number = self._next()
        for desk in self._desks.values():
            desk.ask(number, wrap(LogsRequest(number=number)))
        self._wait(self._desks.keys() - set(self.silent))
        self.silent = tuple(sorted(k for k, desk in self._desks.items() if desk.reply is None))
        return {name: desk.logs[name] for name, desk in self._homes().items()}

    def read(self, name: str, offset: int, most: int) -> bytes:
        """So many bytes of a log from there on, or fewer; none if its container does not answer."""
        number = self._next()
        for container, desk in self._desks.items():
            if desk is self._homes().get(name):
                desk.ask(number, wrap(LogRequest(number=number, name=name, offset=offset, most=most)))
                self._wait([container])
                reply = self._desks[container].reply if container in self._desks else None
                return reply.data if isinstance(reply, LogReply) else b""
        return b""

    def close(self) -> None:
        self._visitor.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _next(self) -> int:
        self._questions += 1
        return self._questions

    def _homes(self) -> dict[str, _Desk]:
        """Who is asked for which log.

        Containers on one machine all have its logs, and one that has moved leaves some behind. Then it is the
        one whose process wrote it.
        """
        homes: dict[str, _Desk] = {}
        for _, desk in sorted(self._desks.items()):
            homes |= {name: desk for name in desk.logs if name not in homes or name in desk.processes}
        return homes

    def _look(self) -> None:
        """Follow those who answer for the containers that there are."""
        self._looked_at = time.monotonic()
        self._visitor.renew()
        containers = {int(name) for name in self._state.children(self._tree.containers)}
        for gone in self._desks.keys() - containers:
            self._desks.pop(gone).close()
        for container in containers:
            path = self._tree.metrics_manager(container) if container else self._tree.master
            registration = reported(self._state, path, Registration)
            known = self._desks.get(container)
            if known is None or known.registration != registration:
                self._desks[container] = _Desk(self._visitor, registration, instead_of=known)
            executor = reported(self._state, self._tree.executor(container), ExecutorNode)
            self._desks[container].processes = executor.children if executor is not None else ()

    def _wait(self, containers: Collection[int]) -> None:
        now = time.monotonic()
        deadline, again = now + self.patience, now + AGAIN
        while now < deadline and any(self._owes(container) for container in containers):
            self._visitor.reactor.turn(min(deadline, again) - now)
            now = time.monotonic()
            if now >= again:
                again = now + AGAIN
                self._look()
                for desk in self._desks.values():
                    desk.ask_again()

    def _owes(self, container: int) -> bool:
        """Whether it is there, and has not answered yet."""
        return container in self._desks and self._desks[container].reply is None


class _Desk:
    """Whoever answers for the logs of one container."""

    def __init__(
        self, visitor: ClientSession, registration: Registration | None, instead_of: _Desk | None
    ) -> None:
        self.registration = registration
        self._visitor = visitor
        self._dealer = None
        if registration is not None and registration.endpoint:
            self._dealer = visitor.connect(registration, self._on_readable)
        self._number = 0
        self._question = b""
        #: to the last question
        self.reply: LogsReply | LogReply | None = None
        #: as last told: name → positions that can be read
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
            self._visitor.disconnect(self._dealer)

    def _on_readable(self) -> None:
        assert self._dealer is not None
        while (parts := self._dealer.receive()) is not None:
            message = unwrap(parts[-1])
            if not isinstance(message, LogsReply | LogReply) or message.number != self._number:
                continue
            self.reply = message
            if isinstance(message, LogsReply):
                self.logs = {log.name: range(log.first, log.bytes) for log in message.logs}
