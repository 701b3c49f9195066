"""Sockets that cannot be set up wrongly: never blocking, bounded, and with our errors."""

from __future__ import annotations

import functools
import os
from types import TracebackType
from typing import Literal, Self

import zmq

from heronpy.kernel.errors import UserError
from heronpy.kernel.machine.listen_address import own_address
from heronpy.kernel.transport.curve import Gatekeeper, KeyPair
from heronpy.kernel.transport.descriptors import raise_limit, share_for_handshakes
from heronpy.kernel.transport.interface import (
    HIGH_WATER_MARK,
    RECONNECT_MAX,
    RECONNECT_MIN,
    SMALLEST_LIMIT,
    Dealer,
    Router,
)
from heronpy.kernel.transport.unix_sockets import UnixDealer, UnixRouter
from heronpy.kernel.transport.zmq_sockets import ZmqDealer, ZmqRouter

#: what carries messages between the processes of a container
Local = Literal["unix", "zmq"]

#: a connection that has had no answer from the other machine for this long is made anew, in milliseconds
SILENT_PEER_MS = 2000

#: connections that the kernel holds until libzmq accepts them; large, for floods of foreign connections
BACKLOG = 1024

#: what CURVE puts around each part: command name, nonce, authentication code, flags
CURVE_BYTES = 33


class Transport:
    """The sockets of one process, its key pair and its allow-list."""

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        max_bytes: int = 16 << 20,
        handshake: float = 2.0,
        local: Local = "unix",
    ) -> None:
        #: where the TCP router listens; 0 for any free port
        self._port = port
        #: an address of this machine, or a network that contains one
        self._host = host
        #: no part of a message may be larger
        self._max_bytes = max(max_bytes, SMALLEST_LIMIT)
        self._handshake_ms = int(handshake * 1000)
        self._local = local
        self._pid = os.getpid()
        self._gatekeeper: Gatekeeper | None = None
        #: keeps open sockets alive: close() ends them, not the garbage collector
        self._sockets: list[zmq.Socket[bytes]] = []
        self._unix_sockets: list[UnixRouter | UnixDealer] = []

    @functools.cached_property
    def keys(self) -> KeyPair:
        return KeyPair.make()

    @functools.cached_property
    def _context(self) -> zmq.Context[zmq.Socket[bytes]]:
        """Made with the first ZeroMQ socket: it brings threads and memory."""
        return zmq.Context(io_threads=1)

    @property
    def gatekeeper(self) -> Gatekeeper:
        """Made with the first use, before any socket listens on TCP."""
        if self._gatekeeper is None:
            self._gatekeeper = Gatekeeper(self._context)
        return self._gatekeeper

    def router_local(self, path: str) -> Router:
        """Listen for the other processes of a container."""
        if self._local == "zmq":
            return self.router_ipc(path)
        router = UnixRouter(path, self._max_bytes)
        self._unix_sockets.append(router)
        return router

    def dealer_local(self, path: str, identity: bytes) -> Dealer:
        """Connect to a router_local()."""
        if self._local == "zmq":
            return self.dealer_ipc(path, identity)
        dealer = UnixDealer(path, identity, self._max_bytes)
        self._unix_sockets.append(dealer)
        return dealer

    def router_ipc(self, path: str) -> ZmqRouter:
        """Listen on a unix socket with ZeroMQ; its folder must be private to this account."""
        socket = self._socket(zmq.ROUTER)
        _bind(socket, f"ipc://{path}")
        return ZmqRouter(socket, f"ipc://{path}", self._max_bytes)

    def router_tcp(self) -> ZmqRouter:
        """Listen on TCP for peers whose key is on the allow-list."""
        socket = self._socket(zmq.ROUTER, around=CURVE_BYTES)
        raise_limit()
        self.gatekeeper.watch(socket, share_for_handshakes())
        socket.setsockopt(zmq.BACKLOG, BACKLOG)
        socket.setsockopt(zmq.CURVE_SERVER, 1)
        socket.setsockopt(zmq.CURVE_SECRETKEY, self.keys.secret_key.encode())
        socket.setsockopt_string(zmq.ZAP_DOMAIN, "heronpy")
        _bind(socket, f"tcp://{own_address(self._host)}:{self._port or '*'}")
        return ZmqRouter(socket, socket.getsockopt_string(zmq.LAST_ENDPOINT), self._max_bytes)

    def dealer_ipc(self, path: str, identity: bytes) -> ZmqDealer:
        socket = self._socket(zmq.DEALER)
        socket.setsockopt(zmq.IDENTITY, identity)
        socket.connect(f"ipc://{path}")
        return ZmqDealer(socket, self._max_bytes)

    def dealer_tcp(self, endpoint: str, identity: bytes, server_key: str) -> ZmqDealer:
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
        return ZmqDealer(socket, self._max_bytes)

    def close(self) -> None:
        """Close everything at once; nothing lingers, so nothing can hang the exit."""
        if os.getpid() != self._pid:
            return  # user code has forked: all of it is still in use
        for each in self._unix_sockets:
            each.close()
        if "_context" in self.__dict__:
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
        socket.setsockopt(zmq.RECONNECT_IVL, int(RECONNECT_MIN * 1000))
        socket.setsockopt(zmq.RECONNECT_IVL_MAX, int(RECONNECT_MAX * 1000))
        if kind == zmq.ROUTER:
            socket.setsockopt(zmq.ROUTER_MANDATORY, 1)
            socket.setsockopt(zmq.ROUTER_HANDOVER, 1)
        self._sockets = [*(known for known in self._sockets if not known.closed), socket]
        return socket


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
