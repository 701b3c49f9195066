"""The ways out of a Stream Manager: a local instance or another container, each with a bounded queue."""

from __future__ import annotations

from collections import deque
from typing import Protocol

from heronpy.kernel.flow.peer_link import LinkSender
from heronpy.kernel.transport import Delivery

#: frames beyond this are dropped: credit keeps queues far below it, so reaching it is a fault
MAX_BACKLOG_BYTES = 256 << 20
#: … or beyond this many: frames without a payload take memory as well
MAX_BACKLOG_FRAMES = 1 << 20
#: back-off of SYNC to a peer that confirms nothing: first and longest pause
SYNC_MIN, SYNC_MAX = 0.1, 1.0


class ToInstance(Protocol):
    """The socket that instances are connected to."""

    def send(self, identity: bytes, *parts: bytes) -> Delivery: ...


class ToPeer(Protocol):
    """The connection to another container's Stream Manager."""

    def send(self, parts: tuple[bytes, ...]) -> bool: ...

    def receive(self) -> list[bytes] | None: ...


class Exit(Protocol):
    """A destination of frames: sends them in order, and holds them while it cannot send."""

    dropped: int

    def send(self, prefix: bytes, payload: bytes) -> bool:
        """False when the frame has to wait."""

    def retry(self) -> bool:
        """Send what waits; True when nothing waits any more."""

    def __len__(self) -> int:
        """Frames that wait."""

    def waiting(self) -> list[bytes]:
        """Their prefixes."""


class InstanceExit:
    """A local task, at whichever process holds it; tasks of one process have exits of their own.

    Frames that have not been sent go to the next incarnation: its predecessor never had them.
    """

    __slots__ = ("_frames", "_identity", "_router", "bytes_held", "dropped")

    def __init__(self, router: ToInstance) -> None:
        self._router = router
        self._identity: bytes | None = None
        self._frames: deque[tuple[bytes, bytes]] = deque()
        self.bytes_held = 0
        self.dropped = 0

    def admit(self, identity: bytes) -> None:
        """From now on everything goes to this process."""
        self._identity = identity

    def send(self, prefix: bytes, payload: bytes) -> bool:
        if not self._frames and self._push(prefix, payload):
            return True
        if not _fits(len(self._frames), self.bytes_held + len(payload)):
            self.dropped += 1
        else:
            self._frames.append((prefix, payload))
            self.bytes_held += len(payload)
        return False

    def retry(self) -> bool:
        while self._frames:
            prefix, payload = self._frames[0]
            if not self._push(prefix, payload):
                return False
            self._frames.popleft()
            self.bytes_held -= len(payload)
        return True

    def __len__(self) -> int:
        return len(self._frames)

    def waiting(self) -> list[bytes]:
        return [prefix for prefix, _ in self._frames]

    def _push(self, prefix: bytes, payload: bytes) -> bool:
        if self._identity is None:
            return False
        return self._router.send(self._identity, prefix, payload) is Delivery.SENT


class PeerExit:
    """Another container's Stream Manager, over a link that heals."""

    __slots__ = ("_ask_after", "_ask_at", "_link", "_peer", "_process", "dropped")

    def __init__(self) -> None:
        self._peer: ToPeer | None = None
        #: incarnation and public key of the connected process
        self._process = (0, "")
        self._link = LinkSender()
        self._ask_after = SYNC_MIN
        self._ask_at = 0.0
        self.dropped = 0

    def connect(self, peer: ToPeer, incarnation: int, key: str = "") -> int:
        """Send to this peer from now on. Returns how many frames were in flight to a replaced one."""
        self._peer = peer
        self._ask_after = SYNC_MIN
        if (incarnation, key) == self._process:
            return 0
        self._process = incarnation, key
        return self._link.succeed()

    def park(self) -> None:
        """The container has left the plan and may come back: frames not sent yet are discarded."""
        self._peer = None
        self._link.drop_unsent()
        self.dropped = 0

    def send(self, prefix: bytes, payload: bytes) -> bool:
        if not _fits(len(self._link), self._link.bytes_held + len(payload)):
            self.dropped += 1
        else:
            self._link.append(prefix, payload)
        return self.retry()

    def retry(self) -> bool:
        while (frame := self._link.next()) is not None:
            if self._peer is None or not self._peer.send(frame):
                return False
            self._link.left()
        return True

    def on_replies(self) -> None:
        """Read what the peer has confirmed or misses."""
        while self._peer is not None and (parts := self._peer.receive()) is not None:
            if self._link.on_reply(parts[-1]):
                self._ask_after = SYNC_MIN
                self._ask_at = 0.0

    def ask(self, now: float) -> bool:
        """Send SYNC if the peer has long confirmed nothing; False when no frame is held for it."""
        if not self._link.unconfirmed:
            self._ask_at = 0.0
            return len(self._link) > 0  # may be in flight as soon as there is a connection
        if self._ask_at == 0.0:
            self._ask_at = now + self._ask_after
        elif now >= self._ask_at and self._peer is not None:
            self._peer.send((self._link.sync(),))
            self._ask_after = min(2 * self._ask_after, SYNC_MAX)
            self._ask_at = now + self._ask_after
        return True

    @property
    def unconfirmed(self) -> int:
        return self._link.unconfirmed

    @property
    def resent(self) -> int:
        return self._link.resent

    @property
    def bytes_held(self) -> int:
        return self._link.bytes_held

    def __len__(self) -> int:
        return self._link.unsent

    def waiting(self) -> list[bytes]:
        return self._link.waiting()


def _fits(frames_held: int, size: int) -> bool:
    return frames_held < MAX_BACKLOG_FRAMES and size <= MAX_BACKLOG_BYTES
