"""Connections that never became one: no key, a wrong one, or no ZeroMQ at all."""

from __future__ import annotations

import logging

import zmq

from heronpy.kernel.sparing import Sparing

log = logging.getLogger(__name__)

_FAILED = (
    zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
    | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
    | zmq.EVENT_HANDSHAKE_FAILED_AUTH
)
#: events taken in one turn
_EVENTS_PER_TURN = 256


class Handshakes:
    """Counts the failed handshakes of a listening socket.

    libzmq asks our gatekeeper about CURVE keys only; everybody else is turned away without a word to us.
    """

    def __init__(self, context: zmq.Context[zmq.Socket[bytes]], listening: zmq.Socket[bytes]) -> None:
        address = f"inproc://handshakes-{id(listening)}"
        listening.monitor(address, int(_FAILED))
        self.socket = context.socket(zmq.PAIR)
        self.socket.setsockopt(zmq.LINGER, 0)
        # Unbounded: a full queue would block libzmq's own thread, and with it every connection we have.
        self.socket.setsockopt(zmq.RCVHWM, 0)
        self.socket.connect(address)
        self.failed = 0
        self._complaints = Sparing(log)

    def on_readable(self) -> None:
        for _ in range(_EVENTS_PER_TURN):
            try:
                _, endpoint = self.socket.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            self.failed += 1
            self._complaints.warning("a connection to %s failed its handshake", endpoint.decode())
