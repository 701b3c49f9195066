"""Authentication: CURVE key pairs, and an allow-list that answers ZeroMQ's authentication requests."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

import zmq
from zmq.utils import z85

from heronpy.kernel.logs.rate_limited import RateLimitedLog
from heronpy.kernel.transport.handshakes import Handshakes
from heronpy.kernel.transport.reactor import Reactor
from heronpy.kernel.transport.zmq_sockets import ZmqSocket

log = logging.getLogger(__name__)

#: connections that may wait for their key to be registered; beyond it the oldest is forgotten
PARKED_MAX = 256
#: requests answered in one turn, so that a flood of them keeps nothing else waiting
REQUESTS_PER_TURN = 256


class KeyPair(NamedTuple):
    """A CURVE key pair in its printable form. The secret half never leaves the process that made it."""

    public: str
    secret_key: str

    @classmethod
    def make(cls) -> KeyPair:
        public, secret = zmq.curve_keypair()
        return cls(public.decode(), secret.decode())

    def __repr__(self) -> str:
        return f"KeyPair({self.public})"  # without the secret, which must not get into a log or a traceback


class Gatekeeper:
    """Answers for all CURVE servers of a process: keys on the list may connect.

    A peer may connect a moment before its key is known here, and libzmq never tries again after a
    refusal. So an unknown key gets no answer: the connection waits until the key is allowed, or until the
    handshake times out, after which the peer does try again.
    """

    def __init__(self, context: zmq.Context[zmq.Socket[bytes]]) -> None:
        self._context = context
        listening = context.socket(zmq.ROUTER)
        listening.setsockopt(zmq.LINGER, 0)
        listening.bind("inproc://zeromq.zap.01")
        self.socket = ZmqSocket(listening)
        self._allowed: set[bytes] = set()
        #: (public key, ZAP request) of connections whose key is not registered yet
        self._parked: deque[tuple[bytes, list[bytes]]] = deque(maxlen=PARKED_MAX)
        self._watched: list[Handshakes] = []
        self._complaints = RateLimitedLog(log)

    def watch(self, listening: zmq.Socket[bytes], most: int) -> None:
        """Count failed handshakes of this socket, and limit how many may be unfinished."""
        self._watched.append(Handshakes(self._context, listening, most))

    def serve(self, reactor: Reactor) -> None:
        """Answer authentication requests and count handshakes in this reactor."""
        reactor.register(self.socket, self.on_readable, urgent=True)
        for handshakes in self._watched:
            reactor.register(handshakes.socket, handshakes.on_readable, urgent=True)

    @property
    def rejected(self) -> int:
        """Connections that did not prove a key that is on the list, in the time they had."""
        return sum(handshakes.failed for handshakes in self._watched)

    def allow(self, public_keys: Iterable[str]) -> None:
        """Replace the allow-list."""
        self._allowed = {z85.decode(key) for key in public_keys}
        for _ in range(len(self._parked)):
            key, request = self._parked.popleft()
            if key in self._allowed:
                self._admit(request)
            else:
                self._parked.append((key, request))

    def on_readable(self) -> None:
        for _ in range(REQUESTS_PER_TURN):
            request = self.socket.receive()
            if request is None:
                return
            # identity, "", version, id, domain, address, identity, mechanism, key
            if len(request) < 9 or request[7] != b"CURVE":
                continue  # unanswered, so never let in
            key = request[8]
            if key in self._allowed:
                self._admit(request)
            else:
                self._park(key, request)

    def close(self) -> None:
        self.socket.close()

    def _park(self, key: bytes, request: list[bytes]) -> None:
        peer = request[5].decode(errors="replace")
        self._complaints.warning("unknown key from %s: waiting for its registration", peer)
        self._parked.append((key, request))

    def _admit(self, request: list[bytes]) -> None:
        reply = [request[0], b"", request[2], request[3], b"200", b"OK", b"", b""]
        self.socket.send_multipart(reply)
