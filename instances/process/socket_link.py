"""The link of a real instance: one socket to the container's Stream Manager, for all tasks of the process."""

from __future__ import annotations

import select
from collections import deque
from collections.abc import Callable

from heronpy.instances.link import FrameHandler, unheard
from heronpy.kernel.transport import Dealer, Reactor

#: frames read per turn, so that a fast sender cannot starve the task
_FRAMES_PER_TURN = 64
#: how soon a frame that the socket would not take is tried again
_RETRY = 0.001


def readable(descriptor: int) -> bool:
    """Whether there is something to read, or the descriptor is closed."""
    look = select.poll()
    look.register(descriptor, select.POLLIN)
    return bool(look.poll(0))


def _seen() -> None:
    """Ends a wait."""


class SocketLink:
    """Sends and receives on the thread that runs the user's code."""

    def __init__(self, reactor: Reactor, dealer: Dealer) -> None:
        self._reactor = reactor
        self._dealer = dealer
        self._unsent: deque[tuple[bytes, bytes]] = deque()
        self.handler: FrameHandler = unheard
        #: descriptors of the user's code that end the next wait
        self._watched: list[int] = []
        reactor.register(dealer, self._on_readable)

    @property
    def stopping(self) -> bool:
        return self._reactor.stopping

    def send(self, prefix: bytes, payload: bytes) -> None:
        if self._unsent or not self._dealer.send((prefix, payload)):
            self._unsent.append((prefix, payload))

    def watch(self, descriptor: int, seen: Callable[[], None] = _seen) -> bool:
        if readable(descriptor):
            return False
        self._reactor.register(descriptor, seen)
        self._watched.append(descriptor)
        return True

    def pump(self, timeout: float) -> None:
        while self._unsent and self._dealer.send(self._unsent[0]):
            self._unsent.popleft()
        self._reactor.turn(min(timeout, _RETRY) if self._unsent else timeout)
        while self._watched:  # no longer: the user's code may close them
            self._reactor.unregister(self._watched.pop())

    def _on_readable(self) -> None:
        for _ in range(_FRAMES_PER_TURN):
            parts = self._dealer.receive()
            if parts is None:
                return
            # What has another number of parts is no frame: it is refused as a prefix of no bytes is.
            prefix, payload = parts if len(parts) == 2 else (b"", b"")
            self.handler(prefix, payload)
