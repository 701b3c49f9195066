"""The ways out of a Stream Manager: a local instance or another container, each with a bounded queue."""

from __future__ import annotations

from collections import deque
from typing import Protocol

from heronpy.kernel.transport import Dealer, Delivery, Router

#: frames beyond this wait for nobody: credit keeps queues far below it, so reaching it is a fault
MAX_BACKLOG_BYTES = 256 << 20


class Door(Protocol):
    """Puts one frame on its way, or says why it cannot go now."""

    def push(self, prefix: bytes, payload: bytes) -> Delivery: ...


class InstanceDoor:
    """A local instance, as one incarnation of it is connected."""

    def __init__(self, router: Router, identity: bytes) -> None:
        self._router = router
        self._identity = identity

    def push(self, prefix: bytes, payload: bytes) -> Delivery:
        return self._router.send(self._identity, prefix, payload)


class PeerDoor:
    """Another container's Stream Manager."""

    def __init__(self, dealer: Dealer) -> None:
        self.dealer = dealer

    def push(self, prefix: bytes, payload: bytes) -> Delivery:
        return Delivery.SENT if self.dealer.send((prefix, payload)) else Delivery.FULL


class Exit:
    """A door and the frames that wait in front of it, in order.

    Frames that have not left go to whoever stands behind the door next: a successor gets what its
    predecessor was never sent.
    """

    __slots__ = ("_frames", "bytes_held", "door", "dropped")

    def __init__(self) -> None:
        self.door: Door | None = None
        self._frames: deque[tuple[bytes, bytes]] = deque()
        self.bytes_held = 0
        self.dropped = 0

    def send(self, prefix: bytes, payload: bytes) -> bool:
        """False when the frame has to wait."""
        if not self._frames and self.door is not None and self.door.push(prefix, payload) is Delivery.SENT:
            return True
        self._hold(prefix, payload)
        return False

    def retry(self) -> bool:
        """Send what waits; True when nothing waits any more."""
        if self.door is None:
            return False
        while self._frames:
            prefix, payload = self._frames[0]
            if self.door.push(prefix, payload) is not Delivery.SENT:
                return False
            self._frames.popleft()
            self.bytes_held -= len(payload)
        return True

    def __len__(self) -> int:
        return len(self._frames)

    def _hold(self, prefix: bytes, payload: bytes) -> None:
        if self.bytes_held + len(payload) > MAX_BACKLOG_BYTES:
            self.dropped += 1
            return
        self._frames.append((prefix, payload))
        self.bytes_held += len(payload)
