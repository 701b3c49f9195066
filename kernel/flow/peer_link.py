"""A link between two Stream Managers that loses nothing while both live: numbers and a resend window.

A window belongs to two processes. The same two, connected again, go on where they were, even if one had left
the plan meanwhile: what was lost on the way is sent again, what comes twice is dropped. Decides; does no I/O
and has no clock.
"""

from __future__ import annotations

import struct
from collections import deque
from itertools import islice
from typing import Final

from heronpy.kernel.errors import ProtocolError

_HEAD = struct.Struct("<BQ")

#: sender to receiver: a frame follows, and this is its number
FRAME: Final = 1
#: sender to receiver: "all below this number has been sent; have you got it?"
SYNC: Final = 2
#: receiver to sender: all below this number has come
RECEIVED: Final = 3
#: … and the one with this number is missing: send again from there
MISSING: Final = 4


def decode_head(head: bytes) -> tuple[int, int]:
    """(kind, number)"""
    if len(head) != _HEAD.size:
        msg = f"link head of {len(head)} bytes instead of {_HEAD.size}"
        raise ProtocolError(msg)
    kind, number = _HEAD.unpack(head)
    return kind, number


class LinkSender:
    """Frames towards one peer, in order: sent and not confirmed, then those that never left."""

    __slots__ = ("_cursor", "_first", "_frames", "_high", "bytes_held", "resent")

    def __init__(self) -> None:
        self._frames: deque[tuple[bytes, bytes]] = deque()
        #: number of the oldest frame that we keep
        self._first = 0
        #: number of the next to be sent; goes back when the peer misses something
        self._cursor = 0
        #: every number below it has been sent at least once
        self._high = 0
        self.bytes_held = 0
        self.resent = 0

    def append(self, prefix: bytes, payload: bytes) -> None:
        self._frames.append((prefix, payload))
        self.bytes_held += len(payload)

    def next(self) -> tuple[bytes, bytes, bytes] | None:
        """The frame to be sent now, with its head. Say left() when it has gone."""
        index = self._cursor - self._first
        if index >= len(self._frames):
            return None
        return (_HEAD.pack(FRAME, self._cursor), *self._frames[index])

    def left(self) -> None:
        if self._cursor < self._high:
            self.resent += 1
        self._cursor += 1
        self._high = max(self._high, self._cursor)

    def __len__(self) -> int:
        """All frames that are kept."""
        return len(self._frames)

    @property
    def unsent(self) -> int:
        """Frames that wait to be sent, for the first time or again."""
        return self._first + len(self._frames) - self._cursor

    def waiting(self) -> list[bytes]:
        """The prefixes of those."""
        return [prefix for prefix, _ in islice(self._frames, self._cursor - self._first, None)]

    @property
    def unconfirmed(self) -> int:
        """Frames that have been sent and not confirmed."""
        return self._high - self._first

    def sync(self) -> bytes:
        """Asks the peer how far it is. It follows all frames on the same road, so what it passes is lost."""
        return _HEAD.pack(SYNC, self._cursor)

    def on_reply(self, reply: bytes) -> bool:
        """The peer tells how far it is; True when it is further than we knew, or misses something."""
        kind, number = decode_head(reply)
        if kind not in (RECEIVED, MISSING) or number > self._high:
            msg = f"link reply of kind {kind} with number {number}; {self._high} have been sent"
            raise ProtocolError(msg)
        news = number > self._first
        while self._first < number:
            self.bytes_held -= len(self._frames.popleft()[1])
            self._first += 1
        self._cursor = max(self._cursor, self._first)
        if kind == MISSING and number == self._first:
            self._cursor = self._first
            return True
        return news

    def drop_unsent(self) -> None:
        """What never left is not to leave any more."""
        while self._first + len(self._frames) > self._high:
            self.bytes_held -= len(self._frames.pop()[1])

    def succeed(self) -> int:
        """Another incarnation of the peer: it gets what never left. How many may be lost with the old one."""
        gone = self.unconfirmed
        for _ in range(gone):
            self.bytes_held -= len(self._frames.popleft()[1])
        self._first = self._cursor = self._high = 0
        return gone


class LinkReceiver:
    """The other end: takes frames in order, each once."""

    __slots__ = ("_asked", "_behind", "_expected", "_missing", "repeated")

    def __init__(self) -> None:
        self._expected = 0
        #: whether the peer knows less than we do
        self._behind = False
        #: whether it has to be told of a gap; once is enough, the frames behind the gap are on their way
        self._missing = False
        self._asked = False
        self.repeated = 0

    def on_frame(self, number: int) -> bool:
        """Whether this is the next one; any other is dropped."""
        if number == self._expected:
            self._expected += 1
            self._behind = True
            self._missing = self._asked = False
            return True
        if number < self._expected:
            self.repeated += 1
            self._behind = True
        elif not self._asked:
            self._missing = True
        return False

    def on_sync(self, number: int) -> None:
        """All below this number has been sent: what has not come by now is lost."""
        self._behind = True
        self._missing = number > self._expected

    def reply(self) -> bytes | None:
        """What the peer should know, if there is anything new."""
        if self._missing:
            self._missing = self._behind = False
            self._asked = True
            return _HEAD.pack(MISSING, self._expected)
        if self._behind:
            self._behind = False
            return _HEAD.pack(RECEIVED, self._expected)
        return None
