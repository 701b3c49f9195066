"""Handshakes that fail: without a key, with a wrong one, or not of ZeroMQ at all."""

from __future__ import annotations

import logging
import socket
import struct

import zmq

from heronpy.kernel.logs.rate_limited import RateLimitedLog
from heronpy.kernel.transport.zmq_sockets import ZmqSocket

log = logging.getLogger(__name__)

_FAILED = (
    zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
    | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
    | zmq.EVENT_HANDSHAKE_FAILED_AUTH
)
#: a kind, and the descriptor if the event is of a connection
_EVENT = struct.Struct("=HI")
#: events taken in one turn
_EVENTS_PER_TURN = 4096

#: where struct tcp_info has the bytes that were sent and confirmed
_BYTES_ACKED = struct.Struct("120x Q")
#: what a CURVE server has sent before it has seen the client's key: its greeting and WELCOME
_BEFORE_PROOF = 64 + 170


class Handshakes:
    """Counts the failed handshakes of a listening socket, and ends the oldest when too many are unfinished.

    libzmq asks the Gatekeeper about CURVE keys only and refuses all other connections without asking. It
    accepts connections without a limit, so a flood of them would take every descriptor of the process.
    """

    def __init__(
        self, context: zmq.Context[zmq.Socket[bytes]], listening: zmq.Socket[bytes], most: int
    ) -> None:
        address = f"inproc://handshakes-{id(listening)}"
        listening.monitor(address, int(_FAILED | zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED))
        events = context.socket(zmq.PAIR)
        events.setsockopt(zmq.LINGER, 0)
        # Unbounded: a full queue would block libzmq's own thread, and with it every connection.
        events.setsockopt(zmq.RCVHWM, 0)
        events.connect(address)
        self.socket = ZmqSocket(events)
        self.failed = 0
        self._most = most
        #: descriptors of connections that may not have proved their key yet, oldest first
        self._unfinished: dict[int, None] = {}
        self._complaints = RateLimitedLog(log)

    def on_readable(self) -> None:
        for _ in range(_EVENTS_PER_TURN):
            message = self.socket.receive()
            if message is None:
                break
            event, endpoint = message
            kind, value = _EVENT.unpack(event)
            if kind == zmq.EVENT_ACCEPTED:
                self._unfinished[value] = None
            elif kind == zmq.EVENT_DISCONNECTED:
                self._unfinished.pop(value, None)
            else:
                self.failed += 1
                self._complaints.warning("a connection to %s failed its handshake", endpoint.decode())
        self._keep_to_the_limit()

    def _keep_to_the_limit(self) -> None:
        while len(self._unfinished) > self._most:
            oldest = next(iter(self._unfinished))
            del self._unfinished[oldest]
            _end_unless_proved(oldest)


def _end_unless_proved(fd: int) -> None:
    """Shut a connection down that has not proved its key; libzmq then closes it, as if the peer had.

    The monitor does not report which handshake succeeded, but the bytes sent do: READY goes to proven keys
    only. libzmq may have closed the descriptor a moment ago: one that is no connection now is left alone.
    """
    borrowed = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0, fileno=fd)
    try:
        (acked,) = _BYTES_ACKED.unpack_from(borrowed.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 128))
        if acked <= _BEFORE_PROOF:
            borrowed.shutdown(socket.SHUT_RDWR)
    except OSError:
        return
    finally:
        borrowed.detach()
