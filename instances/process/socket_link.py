"""The link of a real instance: one socket to the container's Stream Manager, for all tasks of the process."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from heronpy.instances.link import FrameHandler
from heronpy.kernel.errors import ProtocolError
from heronpy.kernel.flow.frame import route
from heronpy.kernel.transport import Dealer, Reactor

#: frames read per turn, so that a fast sender cannot starve the task
_FRAMES_PER_TURN = 64
#: how soon a frame that the socket would not take is tried again
_RETRY = 0.001


class SocketLink:
    """Sends and receives on the thread that runs the user's code."""

    def __init__(self, reactor: Reactor, dealer: Dealer, tasks: Iterable[int]) -> None:
        """`tasks` are all that live in this process; frames for one that is not built are dropped."""
        self._reactor = reactor
        self._dealer = dealer
        self._unsent: deque[tuple[bytes, bytes]] = deque()
        self._handlers: dict[int, FrameHandler] = dict.fromkeys(tasks, _unheard)
        reactor.register(dealer, self._on_readable)

    @property
    def stopping(self) -> bool:
        return self._reactor.stopping

    def deliver(self, task: int, handler: FrameHandler) -> None:
        """From now on frames for this task are passed here."""
        self._handlers[task] = handler

    def drop(self, task: int) -> None:
        """There is no such task for now: frames for it belong to a run that is over, or are sent again."""
        self._handlers[task] = _unheard

    def send(self, prefix: bytes, payload: bytes) -> None:
        if self._unsent or not self._dealer.send((prefix, payload)):
            self._unsent.append((prefix, payload))

    def pump(self, timeout: float) -> None:
        while self._unsent and self._dealer.send(self._unsent[0]):
            self._unsent.popleft()
        self._reactor.turn(min(timeout, _RETRY) if self._unsent else timeout)

    def _on_readable(self) -> None:
        for _ in range(_FRAMES_PER_TURN):
            parts = self._dealer.receive()
            if parts is None:
                return
            # What has another number of parts is no frame: it is refused as a prefix of no bytes is.
            prefix, payload = parts if len(parts) == 2 else (b"", b"")
            self._handler(prefix)(prefix, payload)

    def _handler(self, prefix: bytes) -> FrameHandler:
        """Of the task that the frame is for. What is for none of them goes to the first, which refuses it."""
        first = next(iter(self._handlers.values()))
        if len(self._handlers) == 1:
            return first
        try:
            return self._handlers.get(route(prefix)[0], first)
        except ProtocolError:
            return first


def _unheard(_prefix: bytes, _payload: bytes) -> None:
    """Drops a frame."""
