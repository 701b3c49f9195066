"""What a socket of this package does, whichever way its messages travel."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Protocol

from heronpy.kernel.errors import MessageTooLarge

#: frames that a socket may hold per peer and direction; further ones wait in the queues of the engine
HIGH_WATER_MARK = 64

#: no limit on the size of a message is below this: plans and acks need some room however small frames are
SMALLEST_LIMIT = 1 << 20

#: a lost connection is made again after this many seconds; the pause doubles with each attempt in vain
RECONNECT_MIN, RECONNECT_MAX = 0.02, 0.5


class Delivery(enum.Enum):
    """What became of a message for a router's peer."""

    SENT = 1
    #: the peer does not keep up: hold it and try again
    FULL = 2
    #: no such peer is connected
    UNKNOWN = 3


class Waited(Protocol):
    """Something that a reactor waits for."""

    @property
    def waitable(self) -> int:
        """A descriptor, readable when something has happened."""

    def next_due(self) -> float:
        """When there is something to do although the descriptor may be silent, by time.monotonic()."""


class Router(Waited, Protocol):
    """The listening side: many peers, each with an identity. It never waits."""

    endpoint: str
    #: connections that were turned away by the socket itself
    refused: int

    def receive(self) -> list[bytes] | None:
        """[identity, part, …], or None when nothing is waiting."""

    def send(self, identity: bytes, *parts: bytes) -> Delivery:
        """Put a message on its way; MessageTooLarge for one that the other side would not take."""

    def close(self) -> None: ...


class Dealer(Waited, Protocol):
    """The connecting side: one peer, reconnected to by itself. It never waits, except to linger."""

    @property
    def connections(self) -> int | None:
        """How often it has been connected so far; None where that is not known."""

    def receive(self) -> list[bytes] | None:
        """[part, …], or None when nothing is waiting."""

    def send(self, parts: Sequence[bytes]) -> bool:
        """False when the peer does not keep up: hold the message and try again.

        MessageTooLarge for one that the other side would not take.
        """

    def close(self, linger: float = 0.0) -> None:
        """Forget what was not sent, or go on sending it for `linger` seconds."""


def refuse_large(parts: Sequence[bytes], limit: int) -> None:
    # The receiving side would drop the connection, and with it whatever else was on its way.
    largest = max(map(len, parts))
    if largest > limit:
        msg = f"a message part of {largest} bytes is above the limit of {limit} bytes"
        raise MessageTooLarge(msg)
