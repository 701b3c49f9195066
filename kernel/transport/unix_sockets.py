"""Unix sockets between the processes of a container, read and written by the thread that uses them.

Each has a descriptor that is readable when there is something to do: an epoll of its own. A peer has to run
as the same user, in a folder that belongs to that user alone.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import select
import socket
import struct
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from heronpy.kernel.errors import PeerLost, ProtocolError, UserError
from heronpy.kernel.logs.rate_limited import RateLimitedLog
from heronpy.kernel.machine.private import NotPrivate, require_private
from heronpy.kernel.transport.interface import (
    HIGH_WATER_MARK,
    RECONNECT_MAX,
    RECONNECT_MIN,
    Delivery,
    refuse_large,
)
from heronpy.kernel.transport.unix_connection import (
    GREETING,
    AcceptedConnection,
    Message,
    UnixConnection,
    pack,
)

log = logging.getLogger(__name__)

#: connections that the kernel holds until they are accepted
BACKLOG = 1024
#: connections accepted in one turn
ACCEPTED_PER_TURN = 64
#: connections that have not sent their greeting; beyond it the oldest is closed
MOST_UNFINISHED = 256

#: pid, uid, gid
_CREDENTIALS = struct.Struct("3i")


class UnixRouter:
    """Listens at a path. Each peer is read in turn, a chunk at a time."""

    def __init__(self, path: str, max_bytes: int) -> None:
        self.endpoint = f"unix://{path}"
        self.refused = 0
        self._path = path
        self._max_bytes = max_bytes
        self._listening = _listen(path)
        #: a successor may have taken the path by the time that this one is closed
        self._inode = os.lstat(path).st_ino
        self._epoll = select.epoll()
        self._epoll.register(self._listening, select.EPOLLIN)
        self._by_descriptor: dict[int, AcceptedConnection] = {}
        self._routes: dict[bytes, AcceptedConnection] = {}
        #: descriptors without a greeting, oldest first
        self._unfinished: dict[int, None] = {}
        self._arrived: deque[Message] = deque()
        #: whether the last look at all peers left nothing to be read
        self._quiet = False
        self._complaints = RateLimitedLog(log)

    @property
    def waitable(self) -> int:
        return self._epoll.fileno()

    def next_due(self) -> float:
        """When there is something to do although the descriptor may be silent."""
        return 0.0 if self._arrived else math.inf

    def receive(self) -> list[bytes] | None:
        if not self._arrived and not self._quiet:
            self._look()
        if self._arrived:
            return self._arrived.popleft()
        self._quiet = False
        return None

    def send(self, identity: bytes, *parts: bytes) -> Delivery:
        refuse_large(parts, self._max_bytes)
        peer = self._routes.get(identity)
        if peer is None:
            return Delivery.UNKNOWN
        try:
            taken = peer.send(pack(parts))
        except PeerLost:
            self._part_with(peer)
            return Delivery.UNKNOWN
        if peer.waiting:
            _watch(self._epoll, peer)
        return Delivery.SENT if taken else Delivery.FULL

    def close(self) -> None:
        if self._epoll.closed:
            return
        for peer in list(self._by_descriptor.values()):
            self._drop(peer)
        self._epoll.close()
        self._listening.close()
        with contextlib.suppress(FileNotFoundError):
            if os.lstat(self._path).st_ino == self._inode:
                os.unlink(self._path)

    def _look(self) -> None:
        """Serve every descriptor that has something, once."""
        self._quiet = True
        for descriptor, events in self._epoll.poll(0):
            peer = self._by_descriptor.get(descriptor)
            if peer is None:
                if descriptor == self._listening.fileno():
                    self._quiet = False
                    self._accept()
            elif self._serve(peer, events):
                self._quiet = False

    def _serve(self, peer: AcceptedConnection, events: int) -> bool:
        """Whether there may be more."""
        try:
            if events & select.EPOLLOUT:
                peer.flush()
                _watch(self._epoll, peer)
            if not peer.identity:
                return self._greet(peer)
            return bool(events & ~select.EPOLLOUT) and peer.read(self._arrived)
        except PeerLost:
            self._part_with(peer)
        except ProtocolError as error:
            self._turn_away(peer, str(error))
        return True

    def _greet(self, peer: AcceptedConnection) -> bool:
        """Read the greeting, and what came with it."""
        first: deque[Message] = deque()
        more = peer.read(first)
        if peer.identity:
            del self._unfinished[peer.socket.fileno()]
            before = self._routes.get(peer.identity)
            if before is not None:
                self._part_with(before)
            self._routes[peer.identity] = peer
        self._arrived.extend(first)
        return more

    def _accept(self) -> None:
        for _ in range(ACCEPTED_PER_TURN):
            try:
                connected, _ = self._listening.accept()
            except BlockingIOError:
                return
            except OSError as error:
                self._complaints.warning("cannot accept a connection at %s: %s", self._path, error)
                return
            peer = AcceptedConnection(connected, self._max_bytes)
            descriptor = connected.fileno()
            self._by_descriptor[descriptor] = peer
            self._unfinished[descriptor] = None
            self._epoll.register(descriptor, peer.interest)
            if not _is_ours(connected):
                self._turn_away(peer, "it is of another user")
            elif len(self._unfinished) > MOST_UNFINISHED:
                oldest = self._by_descriptor[next(iter(self._unfinished))]
                self._turn_away(oldest, "no greeting, and too many others wait")
            else:
                self._serve(peer, select.EPOLLIN)

    def _turn_away(self, peer: AcceptedConnection, reason: str) -> None:
        self.refused += 1
        self._complaints.warning("closed a connection at %s: %s", self._path, reason)
        self._drop(peer)

    def _part_with(self, peer: AcceptedConnection) -> None:
        """It is gone or replaced: what it has sent before is still heard."""
        peer.read_rest(self._arrived)
        self._drop(peer)

    def _drop(self, peer: AcceptedConnection) -> None:
        descriptor = peer.socket.fileno()
        del self._by_descriptor[descriptor]
        self._unfinished.pop(descriptor, None)
        if self._routes.get(peer.identity) is peer:
            del self._routes[peer.identity]
        _end(self._epoll, peer)


class UnixDealer:
    """Connects to the router at a path, and again whenever the connection is lost.

    Every call does what is due: one that only sends needs no reactor.
    """

    def __init__(self, path: str, identity: bytes, max_bytes: int) -> None:
        self._path = path
        self._folder = Path(path).parent
        self._greeting = b"".join(pack((GREETING, identity)))
        self._max_bytes = max_bytes
        self._epoll = select.epoll()
        self._connection: UnixConnection | None = None
        #: packed; what no connection has delivered goes over the next
        self._waiting: deque[list[bytes]] = deque()
        self._arrived: deque[Message] = deque()
        self._quiet = False
        self._pause = RECONNECT_MIN
        #: when to connect again
        self._due = 0.0
        self.connections = 0
        self._complaints = RateLimitedLog(log)
        self._connect()

    @property
    def waitable(self) -> int:
        return self._epoll.fileno()

    def next_due(self) -> float:
        """When there is something to do although the descriptor may be silent."""
        if self._arrived:
            return 0.0
        return math.inf if self._connection is not None else self._due

    def receive(self) -> list[bytes] | None:
        if not self._arrived and not self._quiet:
            self._serve()
        if self._arrived:
            return self._arrived.popleft()
        self._quiet = False
        return None

    def send(self, parts: Sequence[bytes]) -> bool:
        refuse_large(parts, self._max_bytes)
        message = pack(parts)
        connection = self._connected()
        if connection is not None:
            try:
                taken = connection.send(message)
            except PeerLost:
                self._lose(connection)
            else:
                if connection.waiting:
                    self._make_room(connection)
                return taken
        if len(self._waiting) >= HIGH_WATER_MARK:
            return False
        self._waiting.append(message)
        return True

    def close(self, linger: float = 0.0) -> None:
        if self._epoll.closed:
            return
        deadline = time.monotonic() + linger
        while self._waiting and (left := deadline - time.monotonic()) > 0:
            self._epoll.poll(min(left, RECONNECT_MIN))
            self._arrived.clear()
            self._serve()
        if self._connection is not None:
            _end(self._epoll, self._connection)
            self._connection = None
        self._epoll.close()

    def _serve(self) -> None:
        connection = self._connected()
        if connection is None:
            return
        try:
            if connection.waiting:
                connection.flush()
                _watch(self._epoll, connection)
            self._quiet = not connection.read(self._arrived)
        except PeerLost:
            self._lose(connection)
        except ProtocolError as error:
            self._complaints.warning("left %s: %s", self._path, error)
            self._lose(connection)

    def _make_room(self, connection: UnixConnection) -> None:
        """A dealer that only sends is not woken when the peer has read: it looks by itself."""
        try:
            connection.flush()
            _watch(self._epoll, connection)
        except PeerLost:
            self._lose(connection)

    def _connected(self) -> UnixConnection | None:
        if self._connection is None and time.monotonic() >= self._due:
            self._connect()
        return self._connection

    def _connect(self) -> None:
        self._due = time.monotonic() + self._pause
        self._pause = min(2 * self._pause, RECONNECT_MAX)
        attempt = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            require_private(self._folder)
            attempt.setblocking(False)
            attempt.connect(self._path)
            _require_ours(attempt)
            attempt.send(self._greeting)
        except NotPrivate as error:
            self._complaints.warning("cannot connect to %s: %s", self._path, error)
            attempt.close()
        except OSError:  # nothing listens there yet
            attempt.close()
        else:
            self._pause = RECONNECT_MIN
            self.connections += 1
            self._connection = UnixConnection(attempt, self._max_bytes, self._waiting)
            self._epoll.register(attempt, self._connection.interest)
            if self._waiting:
                self._make_room(self._connection)

    def _lose(self, connection: UnixConnection) -> None:
        """What the peer has sent before is still heard."""
        connection.read_rest(self._arrived)
        _end(self._epoll, connection)
        self._connection = None
        self._quiet = False
        self._due = time.monotonic() + RECONNECT_MIN


def _listen(path: str) -> socket.socket:
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        require_private(Path(path).parent)
        listening.setblocking(False)
        os.fchmod(listening.fileno(), 0o600)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)  # of a predecessor
        listening.bind(path)
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        msg = f"cannot listen on unix://{path}: {error.strerror or error}"
        raise UserError(msg, hint="submit the topology again, or pass --set transport.local=zmq") from error
    return listening


def _is_ours(connected: socket.socket) -> bool:
    """Whether the process at the other end runs as this user; the kernel says so, not the process."""
    credentials = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(credentials)[1]) == os.geteuid()


def _require_ours(connected: socket.socket) -> None:
    if not _is_ours(connected):
        msg = "another user listens there"
        raise NotPrivate(msg)


def _watch(epoll: select.epoll, connection: UnixConnection) -> None:
    """Wake up when there is room, if something waits for it."""
    wanted = select.EPOLLIN | select.EPOLLOUT if connection.waiting else select.EPOLLIN
    if wanted != connection.interest:
        connection.interest = wanted
        epoll.modify(connection.socket, wanted)


def _end(epoll: select.epoll, connection: UnixConnection) -> None:
    # Closing alone is not enough: a process that user code has forked may have the connection open.
    epoll.unregister(connection.socket)
    connection.socket.close()
