"""ZeroMQ sockets that cannot be set up wrongly: never blocking, bounded, and with our errors."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from types import TracebackType
from typing import Self

import zmq

from heronpy.kernel.errors import MessageTooLarge, PeerLost, UserError
from heronpy.kernel.machine.listen_address import own_address
from heronpy.kernel.transport.curve import Gatekeeper, KeyPair
from heronpy.kernel.transport.descriptors import raise_limit, share_for_handshakes

#: a connection that has had no answer from the other machine for this long is made anew, in milliseconds
SILENT_PEER_MS = 2000

#: frames that libzmq may hold per peer and direction; further ones wait in the queues of the engine
HIGH_WATER_MARK = 64

#: connections that the kernel holds until libzmq accepts them; large, for floods of foreign connections
BACKLOG = 1024

SMALLEST_LIMIT = 1 << 20

#: what CURVE puts around each part: command name, nonce, authentication code, flags
CURVE_BYTES = 33


class Delivery(enum.Enum):
    """What became of a message for a router's peer."""

    SENT = 1
    #: the peer does not keep up: hold it and try again
    FULL = 2
    #: no such peer is connected
    UNKNOWN = 3


class Transport:
    """The ZeroMQ context of one process, its key pair and its allow-list."""

    def __init__(
        self, *, host: str = "127.0.0.1", port: int = 0, max_bytes: int = 16 << 20, handshake: float = 2.0
    ) -> None:
        #: where the TCP router listens; 0 for any free port
        self._port = port
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context(io_threads=1)
        #: an address of this machine, or a network that contains one
        self._host = host
        #: no part of a message may be larger; plans and acks need some room however small frames are
        self._max_bytes = max(max_bytes, SMALLEST_LIMIT)
        self._handshake_ms = int(handshake * 1000)
        self.keys = KeyPair.make()
        self._gatekeeper: Gatekeeper | None = None
        #: keeps open sockets alive: close() ends them, not the garbage collector
        self._sockets: list[zmq.Socket[bytes]] = []

    @property
    def gatekeeper(self) -> Gatekeeper:
        """Made with the first use, before any socket listens on TCP."""
        if self._gatekeeper is None:
            self._gatekeeper = Gatekeeper(self._context)
        return self._gatekeeper

    def router_ipc(self, path: str) -> Router:
        """Listen on a unix socket; its folder must be private to this account."""
        socket = self._socket(zmq.ROUTER)
        _bind(socket, f"ipc://{path}")
        return Router(socket, f"ipc://{path}", self._max_bytes)

    def router_tcp(self) -> Router:
        """Listen on TCP for peers whose key is on the allow-list."""
        socket = self._socket(zmq.ROUTER, around=CURVE_BYTES)
        raise_limit()
        self.gatekeeper.watch(socket, share_for_handshakes())
        socket.setsockopt(zmq.BACKLOG, BACKLOG)
        socket.setsockopt(zmq.CURVE_SERVER, 1)
        socket.setsockopt(zmq.CURVE_SECRETKEY, self.keys.secret_key.encode())
        socket.setsockopt_string(zmq.ZAP_DOMAIN, "heronpy")
        _bind(socket, f"tcp://{own_address(self._host)}:{self._port or '*'}")
        return Router(socket, socket.getsockopt_string(zmq.LAST_ENDPOINT), self._max_bytes)

    def dealer_ipc(self, path: str, identity: bytes) -> Dealer:
        socket = self._socket(zmq.DEALER)
        socket.setsockopt(zmq.IDENTITY, identity)
        socket.connect(f"ipc://{path}")
        return Dealer(socket, self._max_bytes)

    def dealer_tcp(self, endpoint: str, identity: bytes, server_key: str) -> Dealer:
        """Connect to a router_tcp(); the server proves its key as well."""
        socket = self._socket(zmq.DEALER, around=CURVE_BYTES)
        socket.setsockopt(zmq.IDENTITY, identity)
        # Otherwise the kernel would try for a quarter of an hour, at ever longer intervals: after a cut it
        # would be silent for as long again. A connection that is given up costs little; links heal.
        socket.setsockopt(zmq.TCP_MAXRT, SILENT_PEER_MS)
        socket.setsockopt(zmq.CONNECT_TIMEOUT, SILENT_PEER_MS)
        socket.setsockopt(zmq.CURVE_SERVERKEY, server_key.encode())
        socket.setsockopt(zmq.CURVE_PUBLICKEY, self.keys.public.encode())
        socket.setsockopt(zmq.CURVE_SECRETKEY, self.keys.secret_key.encode())
        socket.connect(endpoint)
        return Dealer(socket, self._max_bytes)

    def close(self) -> None:
        """Close everything at once; nothing lingers, so nothing can hang the exit."""
        self._context.destroy(linger=0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _socket(self, kind: int, around: int = 0) -> zmq.Socket[bytes]:
        socket = self._context.socket(kind)
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.SNDHWM, HIGH_WATER_MARK)
        socket.setsockopt(zmq.RCVHWM, HIGH_WATER_MARK)
        socket.setsockopt(zmq.MAXMSGSIZE, self._max_bytes + around)
        socket.setsockopt(zmq.HANDSHAKE_IVL, self._handshake_ms)
        socket.setsockopt(zmq.RECONNECT_IVL, 20)
        socket.setsockopt(zmq.RECONNECT_IVL_MAX, 500)
        if kind == zmq.ROUTER:
            socket.setsockopt(zmq.ROUTER_MANDATORY, 1)
            socket.setsockopt(zmq.ROUTER_HANDOVER, 1)
        self._sockets = [*(known for known in self._sockets if not known.closed), socket]
        return socket


class Router:
    """The listening side: many peers, each with an identity."""

    def __init__(self, socket: zmq.Socket[bytes], endpoint: str, max_bytes: int) -> None:
        self.socket = socket
        self.endpoint = endpoint
        self._max_bytes = max_bytes

    def receive(self) -> list[bytes] | None:
        """[identity, part, …], or None when nothing is waiting."""
        try:
            return self.socket.recv_multipart(zmq.NOBLOCK)
        except zmq.Again:
            return None

    def send(self, identity: bytes, *parts: bytes) -> Delivery:
        """Put a message on its way; MessageTooLarge for one that the other side would not take."""
        _refuse_large(parts, self._max_bytes)
        try:
            self.socket.send_multipart((identity, *parts), zmq.NOBLOCK)
        except zmq.Again:
            return Delivery.FULL
        except zmq.ZMQError as error:
            if error.errno == zmq.EHOSTUNREACH:
                return Delivery.UNKNOWN
            raise PeerLost(str(error)) from error
        return Delivery.SENT

    def close(self) -> None:
        self.socket.close(linger=0)


class Dealer:
    """The connecting side: one peer, reconnected to by itself."""

    def __init__(self, socket: zmq.Socket[bytes], max_bytes: int) -> None:
        self.socket = socket
        self._max_bytes = max_bytes

    def receive(self) -> list[bytes] | None:
        """[part, …], or None when nothing is waiting."""
        try:
            return self.socket.recv_multipart(zmq.NOBLOCK)
        except zmq.Again:
            return None

    def send(self, parts: Sequence[bytes]) -> bool:
        """False when the peer does not keep up: hold the message and try again.

        MessageTooLarge for one that the other side would not take.
        """
        _refuse_large(parts, self._max_bytes)
        try:
            self.socket.send_multipart(parts, zmq.NOBLOCK)
        except zmq.Again:
            return False
        return True

    def close(self, linger: float = 0.0) -> None:
        """Forget what was not sent, or go on sending it for `linger` seconds."""
        self.socket.close(linger=int(linger * 1000))


def _refuse_large(parts: Sequence[bytes], limit: int) -> None:
    # The receiving libzmq would drop the connection, and with it whatever else was on its way.
    largest = max(map(len, parts))
    if largest > limit:
        msg = f"a message part of {largest} bytes is above the limit of {limit} bytes"
        raise MessageTooLarge(msg)


def _bind(socket: zmq.Socket[bytes], address: str) -> None:
    try:
        socket.bind(address)
    except zmq.ZMQError as error:
        socket.close(linger=0)
        msg = f"cannot listen on {address}: {zmq.strerror(error.errno or 0)}"
        raise UserError(
            msg,
            hint="set another transport.host or transport.port, or end the process that holds the address",
        ) from error
