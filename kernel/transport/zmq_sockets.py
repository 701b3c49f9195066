"""ZeroMQ sockets that never block, with our errors: between machines, and in a container if so chosen."""

from __future__ import annotations

import math
from collections.abc import Sequence

import zmq

from heronpy.kernel.errors import PeerLost
from heronpy.kernel.transport.interface import Delivery, refuse_large


class ZmqSocket:
    """A socket that a reactor waits for by its descriptor, which costs nothing while it is silent.

    ZeroMQ's descriptor is readable when something has changed, not for as long as a message waits; and every
    call may take note of the change. So whoever has used the socket has to ask before the next wait.
    """

    def __init__(self, socket: zmq.Socket[bytes]) -> None:
        self.socket = socket
        self.waitable = int(socket.getsockopt(zmq.FD))
        #: whether messages may wait while the descriptor is silent
        self._unsure = True

    def next_due(self) -> float:
        if self._unsure:
            self._unsure = bool(int(self.socket.getsockopt(zmq.EVENTS)) & zmq.POLLIN)
        return 0.0 if self._unsure else math.inf

    def receive(self) -> list[bytes] | None:
        """None when nothing is waiting; then the descriptor tells of the next message."""
        try:
            self._unsure = True
            return self.socket.recv_multipart(zmq.NOBLOCK)
        except zmq.Again:
            self._unsure = False
            return None

    def send_multipart(self, parts: Sequence[bytes]) -> None:
        """zmq.Again when there is no room."""
        self._unsure = True
        self.socket.send_multipart(parts, zmq.NOBLOCK)

    def close(self, linger: float = 0.0) -> None:
        self.socket.close(linger=int(linger * 1000))


class ZmqRouter(ZmqSocket):
    """A ROUTER; libzmq's own thread reads and writes."""

    def __init__(self, socket: zmq.Socket[bytes], endpoint: str, max_bytes: int) -> None:
        super().__init__(socket)
        self.endpoint = endpoint
        #: the Gatekeeper counts for all of them
        self.refused = 0
        self._max_bytes = max_bytes

    def send(self, identity: bytes, *parts: bytes) -> Delivery:
        refuse_large(parts, self._max_bytes)
        try:
            self.send_multipart((identity, *parts))
        except zmq.Again:
            return Delivery.FULL
        except zmq.ZMQError as error:
            if error.errno == zmq.EHOSTUNREACH:
                return Delivery.UNKNOWN
            raise PeerLost(str(error)) from error
        return Delivery.SENT


class ZmqDealer(ZmqSocket):
    """A DEALER; libzmq's own thread reads, writes and connects again."""

    connections = None

    def __init__(self, socket: zmq.Socket[bytes], max_bytes: int) -> None:
        super().__init__(socket)
        self._max_bytes = max_bytes

    def send(self, parts: Sequence[bytes]) -> bool:
        refuse_large(parts, self._max_bytes)
        try:
            self.send_multipart(parts)
        except zmq.Again:
            return False
        return True
