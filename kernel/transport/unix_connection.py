"""One connection over a unix socket: messages in a stream of bytes, and the queue of those that wait.

A message is the number of its parts in one byte, the size of each in four (little-endian), and the parts.
"""

from __future__ import annotations

import select
import socket
import struct
from collections import deque
from collections.abc import Sequence
from typing import Final

from heronpy.kernel.errors import PeerLost, ProtocolError
from heronpy.kernel.transport.interface import HIGH_WATER_MARK

#: a frame has two parts, on a link three
MOST_PARTS: Final = 4
#: what is read at once, and about what is written at once
CHUNK: Final = 64 << 10
#: what the kernel holds for a peer that does not read; it may allow less (net.core.wmem_max)
KERNEL_BUFFER: Final = 1 << 20
#: reads of what a lost connection has left
_LAST_READS: Final = 64

#: the first part of what a connection begins with; the second is the identity
GREETING: Final = b"heronpy link 1"
LONGEST_IDENTITY: Final = 255

_HEADS: Final = [struct.Struct(f"<B{count}I") for count in range(MOST_PARTS + 1)]

Message = list[bytes]


def pack(parts: Sequence[bytes]) -> list[bytes]:
    """The pieces that are written one behind the other."""
    head = _HEADS[len(parts)].pack(len(parts), *map(len, parts))
    return [head, *parts]


class UnixConnection:
    """Reads messages, and writes them in order: what the kernel does not take waits, up to a limit."""

    __slots__ = ("_begun", "_body", "_filled", "_sent", "_sizes", "interest", "limit", "socket", "waiting")

    def __init__(self, connected: socket.socket, limit: int, waiting: deque[list[bytes]]) -> None:
        """`waiting` has messages of an earlier connection; the other side never had the whole of any."""
        self.socket = connected
        connected.setblocking(False)
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, KERNEL_BUFFER)
        #: no part of a message that comes in may be larger
        self.limit = limit
        #: messages, packed, that have not been written completely
        self.waiting = waiting
        #: bytes of the first of them that have been written
        self._sent = 0
        #: the beginning of a head
        self._begun = b""
        #: parts of a message of which not all has come, one behind the other
        self._body: bytearray | None = None
        self._filled = 0
        self._sizes: tuple[int, ...] = ()
        #: what epoll has been asked for
        self.interest = select.EPOLLIN

    def send(self, message: list[bytes]) -> bool:
        """False when the peer does not keep up. PeerLost when it is gone; then the message was not taken."""
        waiting = self.waiting
        if waiting:
            if len(waiting) >= HIGH_WATER_MARK:
                return False
            waiting.append(message)
            return True
        sent = self._write(message)
        if sent < sum(map(len, message)):
            waiting.append(message)
            self._sent = sent
        return True

    def flush(self) -> None:
        """Write what waits, as far as the kernel takes it."""
        while self.waiting:
            pieces, size = self._next_pieces()
            sent = self._write(pieces)
            self._advance(sent)
            if sent < size:
                return

    def read(self, into: deque[Message]) -> bool:
        """Read once; False when there was no more to be read.

        PeerLost at the end of the connection, ProtocolError for bytes that are no message.
        """
        body = self._body
        if body is not None:
            return self._read_body(body, into)
        data = self._received()
        if not data:
            return False
        self._decode(self._begun + data if self._begun else data, into)
        return len(data) == CHUNK

    def read_rest(self, into: deque[Message]) -> None:
        """What has come before the connection was lost."""
        try:
            for _ in range(_LAST_READS):
                if not self.read(into):
                    return
        except (PeerLost, ProtocolError):
            return

    def _write(self, pieces: Sequence[bytes | memoryview]) -> int:
        try:
            return self.socket.sendmsg(pieces)
        except BlockingIOError:
            return 0
        except OSError as error:
            raise PeerLost(str(error)) from error

    def _next_pieces(self) -> tuple[list[bytes | memoryview], int]:
        """What to write next, without what has been written of it; with its size."""
        pieces: list[bytes | memoryview] = []
        skip, size = self._sent, 0
        for message in self.waiting:
            for piece in message:
                if skip >= len(piece):
                    skip -= len(piece)
                    continue
                pieces.append(memoryview(piece)[skip:] if skip else piece)
                size += len(piece) - skip
                skip = 0
            if size >= CHUNK:
                break
        return pieces, size

    def _advance(self, sent: int) -> None:
        self._sent += sent
        while self.waiting and self._sent >= (size := sum(map(len, self.waiting[0]))):
            self.waiting.popleft()
            self._sent -= size

    def _received(self) -> bytes:
        """Empty when nothing has come."""
        try:
            data = self.socket.recv(CHUNK)
        except BlockingIOError:
            return b""
        except OSError as error:
            raise PeerLost(str(error)) from error
        if not data:
            msg = "the peer has closed the connection"
            raise PeerLost(msg)
        return data

    def _decode(self, data: bytes, into: deque[Message]) -> None:
        self._begun = b""
        at, end = 0, len(data)
        while at < end:
            count = data[at]
            if not 1 <= count <= MOST_PARTS:
                msg = f"a message of {count} parts"
                raise ProtocolError(msg)
            head = _HEADS[count]
            begin = at + head.size
            if begin > end:
                self._begun = data[at:]
                return
            sizes = head.unpack_from(data, at)[1:]
            if max(sizes) > self.limit:
                msg = f"a message part of {max(sizes)} bytes is above the limit of {self.limit} bytes"
                raise ProtocolError(msg)
            at = begin + sum(sizes)
            if at > end:
                self._begin_body(sizes, data[begin:])
                return
            parts = []
            for size in sizes:
                parts.append(data[begin : begin + size])
                begin += size
            self._take(parts, into)

    def _begin_body(self, sizes: tuple[int, ...], first: bytes) -> None:
        self._sizes = sizes
        self._body = bytearray(sum(sizes))
        self._body[: len(first)] = first
        self._filled = len(first)

    def _read_body(self, body: bytearray, into: deque[Message]) -> bool:
        with memoryview(body) as view, view[self._filled :] as rest:
            try:
                count = self.socket.recv_into(rest)
            except BlockingIOError:
                return False
            except OSError as error:
                raise PeerLost(str(error)) from error
            if not count:
                msg = "the peer has closed the connection within a message"
                raise PeerLost(msg)
            self._filled += count
            if count < len(rest):
                return False
            parts, begin = [], 0
            for size in self._sizes:
                parts.append(bytes(view[begin : begin + size]))
                begin += size
        self._body = None
        self._take(parts, into)
        return True

    def _take(self, parts: Message, into: deque[Message]) -> None:
        into.append(parts)


class AcceptedConnection(UnixConnection):
    """The listening side's end: the first message is the greeting, and all others have its identity."""

    __slots__ = ("_limit", "identity")

    def __init__(self, connected: socket.socket, limit: int) -> None:
        super().__init__(connected, LONGEST_IDENTITY, deque())
        self._limit = limit
        #: empty until the greeting has come
        self.identity = b""

    def _take(self, parts: Message, into: deque[Message]) -> None:
        if self.identity:
            into.append([self.identity, *parts])
            return
        if len(parts) != 2 or parts[0] != GREETING or not parts[1]:
            msg = "it does not begin with a greeting"
            raise ProtocolError(msg)
        self.identity = parts[1]
        self.limit = self._limit
