"""ZeroMQ sockets that never block, with our errors: between machines, and in a container if so chosen."""

from __future__ import annotations

from collections.abc import Sequence

import zmq

from heronpy.kernel.errors import PeerLost
from heronpy.kernel.transport.interface import Delivery, refuse_large


class ZmqRouter:
    """A ROUTER; libzmq's own thread reads and writes."""

    def __init__(self, socket: zmq.Socket[bytes], endpoint: str, max_bytes: int) -> None:
        self.waitable = socket
        self.endpoint = endpoint
        #: the Gatekeeper counts for all of them
        self.refused = 0
        self._max_bytes = max_bytes

    def receive(self) -> list[bytes] | None:
        try:
            return self.waitable.recv_multipart(zmq.NOBLOCK)
        except zmq.Again:
            return None

    def send(self, identity: bytes, *parts: bytes) -> Delivery:
        refuse_large(parts, self._max_bytes)
        try:
            self.waitable.send_multipart((identity, *parts), zmq.NOBLOCK)
        except zmq.Again:
            return Delivery.FULL
        except zmq.ZMQError as error:
            if error.errno == zmq.EHOSTUNREACH:
                return Delivery.UNKNOWN
            raise PeerLost(str(error)) from error
        return Delivery.SENT

    def close(self) -> None:
        self.waitable.close(linger=0)


class ZmqDealer:
    """A DEALER; libzmq's own thread reads, writes and connects again."""

    connections = None

    def __init__(self, socket: zmq.Socket[bytes], max_bytes: int) -> None:
        self.waitable = socket
        self._max_bytes = max_bytes

    def receive(self) -> list[bytes] | None:
        try:
            return self.waitable.recv_multipart(zmq.NOBLOCK)
        except zmq.Again:
            return None

    def send(self, parts: Sequence[bytes]) -> bool:
        refuse_large(parts, self._max_bytes)
        try:
            self.waitable.send_multipart(parts, zmq.NOBLOCK)
        except zmq.Again:
            return False
        return True

    def close(self, linger: float = 0.0) -> None:
        self.waitable.close(linger=int(linger * 1000))
