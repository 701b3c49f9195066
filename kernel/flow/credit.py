"""Credit: how much an emitter may have on its way to one task. Both sides of a channel, without any I/O.

Positions are cumulative, so a grant is a level and not a step: a lost, repeated or late one does no harm.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from heronpy.kernel.errors import ProtocolError

_GRANT = struct.Struct("<QQQ")
_LAST_WORD = struct.Struct("<QQQ")


class Grant(NamedTuple):
    """A receiver's message to an emitter, in tuples since the emitter started."""

    #: incarnation of the emitter that is meant: a successor counts from 0 and must not take this for its own
    emitter: int
    #: all before this position is done with
    consumed: int
    #: nothing from this position on may be sent yet
    limit: int

    @property
    def is_hello(self) -> bool:
        """Whether it is a receiver's first message."""
        return not self.limit

    def encode(self) -> bytes:
        return _GRANT.pack(*self)

    @classmethod
    def decode(cls, payload: bytes) -> Grant:
        if len(payload) != _GRANT.size:
            msg = f"grant of {len(payload)} bytes instead of {_GRANT.size}"
            raise ProtocolError(msg)
        return cls(*_GRANT.unpack(payload))


#: The first word of a receiver that has just started: it tells an emitter that its predecessor is gone. It
#: grants nothing; where the predecessor noted what it had done, it has the emitter and the position.
HELLO = Grant(0, 0, 0)


class LastWord(NamedTuple):
    """How far an emitter that died was on one channel, as it had noted. Its successor sends it."""

    emitter: int
    #: position behind all that it had sent, or was about to send
    sent: int
    #: the most that it can have held in open batches
    open: int

    @staticmethod
    def encode_all(words: Iterable[LastWord]) -> bytes:
        return b"".join(_LAST_WORD.pack(*word) for word in words)

    @classmethod
    def decode_all(cls, payload: bytes) -> tuple[LastWord, ...]:
        if len(payload) % _LAST_WORD.size:
            msg = f"last words of {len(payload)} bytes, which is no multiple of {_LAST_WORD.size}"
            raise ProtocolError(msg)
        return tuple(cls(*word) for word in _LAST_WORD.iter_unpack(payload))


class Spending:
    """The emitter's side of one channel."""

    __slots__ = (
        "_before",
        "_frames",
        "_incarnation",
        "bytes_in_flight",
        "consumed",
        "limit",
        "max_bytes",
        "maybe_lost",
        "planned",
        "receiver",
        "sent",
        "unproven",
    )

    def __init__(self, incarnation: int, max_bytes: int) -> None:
        self._incarnation = incarnation
        #: that may be on their way
        self.max_bytes = max_bytes
        #: (position behind the frame, its size) of all that is on its way
        self._frames: deque[tuple[int, int]] = deque()
        self.bytes_in_flight = 0
        #: incarnation of the receiver whose grants count; 0 until one was heard
        self.receiver = 0
        self.sent = 0
        self.consumed = 0
        #: Nothing before a receiver's first grant: one that is behind is not given more to hold by each of
        #: our lives, and one that is new has heard by then where it begins to count.
        self.limit = 0
        #: tuples of which a receiver that died did not say whether it had done them
        self.maybe_lost = 0
        #: whether the receiver is to be replaced as planned, once it has done all that it was sent
        self.planned = False
        #: the receiver that has been replaced as planned, until its successor is heard; 0 for none
        self._before = 0
        #: what counts in `maybe_lost` unless that plan is carried out
        self.unproven = 0

    def room(self) -> int:
        """Tuples that may be sent now. One frame may pass the byte limit: a large tuple must get through."""
        if self.bytes_in_flight >= self.max_bytes:
            return 0
        return self.limit - self.sent

    @property
    def idle(self) -> bool:
        """Whether the receiver has finished all that it was sent."""
        return self.consumed == self.sent

    @property
    def exposed(self) -> int:
        """Tuples that may be on their way, now or with the credit that is left."""
        return self.limit - self.consumed

    def spend(self, count: int, size: int) -> None:
        self.sent += count
        self.bytes_in_flight += size
        self._frames.append((self.sent, size))

    def on_grant(self, incarnation: int, grant: Grant) -> bool:
        """Take a grant; False when it is of a receiver that has been replaced, or for our predecessor."""
        if incarnation < self.receiver:
            return False
        if incarnation > self.receiver and self.receiver:
            if grant.is_hello and grant.emitter == self._incarnation:
                self._settle(min(grant.consumed, self.sent))
            self._start_over()
        self.receiver = incarnation
        if grant.emitter != self._incarnation:
            return grant.is_hello
        if not self._before or self.planned:  # else it was replaced, and this grant is a late one
            self.limit = max(self.limit, grant.limit)
        self._settle(min(grant.consumed, self.sent))
        return True

    def end_succession(self, *, carried_out: bool) -> None:
        """The plan by which the receiver is replaced is in force, or was rolled back.

        The successor may not have been heard yet. What is left of its predecessor's credit is not for it:
        rows sent on that would count as lost when the successor is heard.
        """
        if self.planned:
            if carried_out and self._before == self.receiver:
                self.limit = self.sent
            else:
                self._before = 0
        self.planned, self.unproven = False, 0

    def expect_successor(self) -> None:
        """The receiver is to be replaced as planned."""
        self.planned, self._before = True, self.receiver

    def _start_over(self) -> None:
        """A new receiver has nothing of what its predecessor was sent."""
        if self._before and not self.planned:
            self._before = 0  # all had been done when it was replaced
        elif self.planned:
            self.unproven += self.sent - self.consumed
        else:
            self.maybe_lost += self.sent - self.consumed
        self._settle(self.sent)
        self.limit = self.sent

    def _settle(self, consumed: int) -> None:
        self.consumed = max(self.consumed, consumed)
        while self._frames and self._frames[0][0] <= self.consumed:
            self.bytes_in_flight -= self._frames.popleft()[1]


class Arrival(NamedTuple):
    """The verdict on one frame."""

    accepted: bool
    #: tuples that were sent before it on this channel and never came
    missing: int


_REFUSED = Arrival(False, 0)


class Receiving:
    """The receiver's side of one channel. `unsent` is what an emitter may hold in open batches."""

    __slots__ = (
        "_at_risk",
        "_before",
        "_limit",
        "_told",
        "_unsent",
        "consumed",
        "left_over",
        "maybe_lost",
        "planned",
        "received",
        "source",
        "unproven",
    )

    def __init__(self, unsent: int = 0) -> None:
        self._unsent = unsent
        #: incarnation of the emitter; 0 until a frame came
        self.source = 0
        self.received = 0
        self.consumed = 0
        #: tuples of emitters that were replaced, which still wait to be processed
        self.left_over = 0
        #: tuples that emitters may have held, or had on their way to us, when they died
        self.maybe_lost = 0
        #: of these, tuples that wait here: they are safe when they are processed
        self._at_risk = 0
        #: whether the emitter is to be replaced as planned, once nothing can be lost with it
        self.planned = False
        #: the emitter that has been replaced as planned, until its successor is heard; 0 for none
        self._before = 0
        #: what counts in `maybe_lost` unless that plan is carried out
        self.unproven = 0
        #: what the last grant said: the emitter cannot have sent more
        self._limit = 0
        self._told = -1

    def expect_successor(self) -> None:
        """The emitter is to be replaced as planned."""
        self.planned, self._before = True, self.source

    def end_succession(self, *, carried_out: bool) -> None:
        """The plan by which the emitter is replaced is in force, or was rolled back."""
        if self.planned and not (carried_out and self._before == self.source):
            self._before = 0
        self.planned, self.unproven = False, 0

    def on_frame(self, incarnation: int, position: int, count: int) -> Arrival:
        """Account for a data frame: a replaced emitter and a repeat are refused, gaps are counted."""
        if incarnation > self.source:
            self._begin(incarnation, position)
        elif incarnation < self.source or position < self.received:
            return _REFUSED
        missing = position - self.received
        self.consumed += missing
        self.received = position + count
        return Arrival(True, missing)

    def on_probe(self, incarnation: int, position: int, last: Sequence[LastWord] = ()) -> int:
        """A waiting emitter says how far it is; what has not come by now is lost. Returns how much.

        `last` is what its predecessors had written down.
        """
        if incarnation < self.source:
            return 0
        lost = self._begin(incarnation, position, last) if incarnation > self.source else 0
        missing = max(position - self.received, 0)
        self.received += missing
        self.consumed += missing
        self._told = -1  # it may be waiting because the last grant was lost: say it again
        return lost + missing

    def on_consumed(self, incarnation: int, count: int) -> None:
        """Tuples of this emitter, or of one that it replaced, are done with."""
        if incarnation == self.source:
            self.consumed += count
            return
        self.left_over -= count
        safe = max(self._at_risk - self.left_over, 0)
        self._at_risk -= safe
        self.maybe_lost -= safe
        if not self.left_over:
            self._told = -1

    @property
    def queued(self) -> int:
        return self.received - self.consumed + self.left_over

    def grant(self, window: int, *, idle: bool) -> Grant | None:
        """The next grant, if there is enough news for a message: a quarter of a window, or any when idle."""
        news = self.consumed - self._told
        # Else an emitter that dies again and again would fill our queue, one window at a time.
        if news <= 0 or self.left_over:
            return None
        # A window that has grown is news as well: the emitter may be waiting at the end of the old one.
        room = self.consumed + window - self._limit
        if not idle and self._told >= 0 and max(news, room) * 4 < window:
            return None
        self._told = self.consumed
        self._limit = max(self._limit, self.consumed + window)
        return Grant(self.source, self.consumed, self._limit)

    def _begin(self, incarnation: int, position: int, last: Sequence[LastWord] = ()) -> int:
        """Count from where the emitter is: what it sent to our predecessor was never ours.

        An emitter that has replaced one we know began after us, so all that it ever sent is ours. Returns
        what is lost for certain.
        """
        missing = 0
        if self.source:
            missing = self._bury(last)
            self.left_over = self.queued
            self.received = self.consumed = 0
        else:
            # Those that had no credit yet died with all that they had emitted.
            self.maybe_lost += sum(word.open for word in last if not word.sent)
            self.received = self.consumed = position
        self.source = incarnation
        self._limit = 0
        self._told = -1
        return missing

    def _bury(self, last: Sequence[LastWord]) -> int:
        """Count what went with the emitter: exactly if it is known how far it was, else its credit."""
        later = [word for word in last if word.emitter >= self.source]
        # What waits here as well: if this process dies too, no count of it is left.
        waits = self.received - self.consumed
        if self._before and not self.planned:
            # It was replaced as planned, with nothing to lose; its successors may have died before this one.
            self._before = 0
            later = [word for word in later if word.emitter > self.source]
            missing, held, at_risk = sum(word.sent for word in later), sum(word.open for word in later), 0
        elif not any(word.emitter == self.source for word in later):
            missing, held, at_risk = 0, max(self._limit - self.consumed, 0) + self._unsent, 0
        else:
            # Of those after it we have never heard: what they sent has not come, and will not.
            missing = max(sum(word.sent for word in later) - self.received, 0)
            held, at_risk = sum(word.open for word in later) + waits, waits
        if self.planned:
            self.unproven += missing + held
            return 0
        self.maybe_lost += held
        self._at_risk += at_risk
        return missing
