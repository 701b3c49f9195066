"""Routers, dealers and what lies between them: they keep, lose, delay and refuse messages as libzmq's do.

A connection is first in, first out and bounded. When it breaks, some of what was on it still comes (late, and
out of order with what the next connection brings), some is lost, and the rest goes over the next connection.
"""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from support.simulation.world import Process, World

from heronpy.kernel.transport import Delivery
from heronpy.kernel.transport.interface import HIGH_WATER_MARK

if TYPE_CHECKING:
    from support.simulation.network import Network

#: messages on one direction of a connection: in the queues of both sides
CAPACITY = 2 * HIGH_WATER_MARK
#: what a message costs the process that reads it
READING = 3e-6
#: how long a lost connection takes to be made again; doubles with each attempt in vain
RECONNECT_MIN, RECONNECT_MAX = 0.02, 0.5

Parts = tuple[bytes, ...]


class Socket(Protocol):
    """What a reactor waits for."""

    def next_due(self) -> float: ...


class Pipe:
    """One direction of a connection."""

    __slots__ = ("_dice", "_held", "_last", "_latency", "messages", "receiver", "recent")

    def __init__(self, receiver: Process, latency: float, dice: random.Random) -> None:
        self.receiver = receiver
        #: (when it arrives, message)
        self.messages: deque[tuple[float, Parts]] = deque()
        #: what was read last
        self.recent: deque[Parts] = deque(maxlen=4)
        self._latency = latency
        self._dice = dice
        self._last = 0.0
        self._held = False

    def push(self, now: float, parts: Parts) -> bool:
        if len(self.messages) >= CAPACITY:
            return False
        arrival = math.inf
        if not self._held:
            arrival = self._last = max(self._last, now + self._latency * (0.5 + self._dice.random()))
            self.receiver.wake(arrival)
        self.messages.append((arrival, parts))
        return True

    def pop(self, now: float) -> Parts | None:
        if self.messages and self.messages[0][0] <= now:
            self.receiver.busy += READING
            parts = self.messages.popleft()[1]
            self.recent.append(parts)
            return parts
        return None

    def hold(self, now: float) -> None:
        """What has not arrived waits, for as long as nothing gets through."""
        self._held = True
        self.messages = deque((at if at <= now else math.inf, parts) for at, parts in self.messages)

    def release(self, now: float) -> None:
        self._held = False
        waiting = self.messages
        self.messages = deque(entry for entry in waiting if entry[0] < math.inf)
        for at, parts in waiting:
            if at == math.inf:
                self.push(now, parts)

    def cut(self, now: float, *, keep: bool) -> list[Parts]:
        """The connection has ended. Some more may arrive; gives back what has not been sent yet."""
        arrived = [entry for entry in self.messages if entry[0] <= now]
        rest = [parts for at, parts in self.messages if at > now]
        first = self._dice.randrange(len(rest) + 1)
        second = self._dice.randrange(first, len(rest) + 1) if keep else len(rest)
        second = max(second, len(rest) - HIGH_WATER_MARK)
        late = now + self._dice.random() ** 3 * 0.5
        self.messages = deque(arrived)
        if not self._held:
            self.messages.extend((late, parts) for parts in rest[:first])
            self.receiver.wake(late)
        return rest[second:] if keep else []


class Connection:
    """Between one dealer and one router."""

    def __init__(self, dealer: SimulatedDealer, router: SimulatedRouter, latency: float) -> None:
        self.dealer = dealer
        self.router = router
        dice = random.Random(dealer.world.dice.getrandbits(32))
        self.up = Pipe(router.process, latency, dice)
        self.down = Pipe(dealer.process, latency, dice)

    def end(self) -> None:
        """A reset, or the death of one side."""
        dealer, router, now = self.dealer, self.router, self.dealer.world.now
        if router.routes.get(dealer.identity) is self:
            del router.routes[dealer.identity]
        dealer.connection = None
        unsent = self.up.cut(now, keep=dealer.open)
        self.down.cut(now, keep=False)
        if dealer.open:
            dealer.pipes.append(self.down)
            dealer.unsent.extendleft(reversed(unsent))
            dealer.connect_after(RECONNECT_MIN)


class SimulatedRouter:
    """The listening side."""

    def __init__(self, process: Process, endpoint: str) -> None:
        self.process = process
        self.endpoint = endpoint
        #: everything that may still bring something, newest last
        self.pipes: list[tuple[bytes, Pipe]] = []
        self.routes: dict[bytes, Connection] = {}
        self._next = 0
        #: told of every message that is read, and that is sent
        self.on_receive: Callable[[bytes, Parts], None] | None = None
        self.on_send: Callable[[Parts], None] | None = None

    def accept(self, connection: Connection) -> None:
        identity = connection.dealer.identity
        before = self.routes.get(identity)
        if before is not None:
            before.dealer.connection = None
            before.up.cut(self.process.world.now, keep=False)
        self.routes[identity] = connection
        self.pipes = [(name, pipe) for name, pipe in self.pipes if pipe.messages or self._is_live(name, pipe)]
        self.pipes.append((identity, connection.up))

    def receive(self) -> list[bytes] | None:
        now, count = self.process.now(), len(self.pipes)
        for step in range(count):
            at = (self._next + step) % count
            identity, pipe = self.pipes[at]
            parts = pipe.pop(now)
            if parts is not None:
                self._next = at + 1
                if self.on_receive is not None:
                    self.on_receive(identity, parts)
                return [identity, *parts]
        return None

    def send(self, identity: bytes, *parts: bytes) -> Delivery:
        connection = self.routes.get(identity)
        if connection is None:
            return Delivery.UNKNOWN
        if self.on_send is not None:
            self.on_send(parts)
        return Delivery.SENT if connection.down.push(self.process.now(), parts) else Delivery.FULL

    def next_due(self) -> float:
        due = math.inf
        for _, pipe in self.pipes:
            if pipe.messages and pipe.messages[0][0] < due:
                due = pipe.messages[0][0]
        return due

    def _is_live(self, identity: bytes, pipe: Pipe) -> bool:
        route = self.routes.get(identity)
        return route is not None and route.up is pipe


class SimulatedDealer:
    """The connecting side: makes its connection again whenever it is lost."""

    def __init__(
        self, process: Process, network: Network, endpoint: str, identity: bytes, key: str = ""
    ) -> None:
        self.process = process
        self.world: World = process.world
        self._network = network
        self.endpoint = endpoint
        self.identity = identity
        self.key = key
        self.open = True
        self.connection: Connection | None = None
        #: what earlier connections have left to be read
        self.pipes: list[Pipe] = []
        #: what waits for a connection
        self.unsent: deque[Parts] = deque()
        self.on_send: Callable[[Parts], None] | None = None
        self.connect_after(0.001 * self.world.dice.random())

    def connect_after(self, delay: float) -> None:
        self.world.after(delay, lambda: self._connect(delay))

    def receive(self) -> list[bytes] | None:
        now = self.process.now()
        if self.pipes:
            for pipe in self.pipes:
                parts = pipe.pop(now)
                if parts is not None:
                    return list(parts)
            self.pipes = [pipe for pipe in self.pipes if pipe.messages]
        parts = self.connection.down.pop(now) if self.connection is not None else None
        return list(parts) if parts is not None else None

    def send(self, parts: Sequence[bytes]) -> bool:
        message = tuple(parts)
        if self.on_send is not None:
            self.on_send(message)
        if self.connection is not None and not self.unsent:
            return self.connection.up.push(self.process.now(), message)
        if len(self.unsent) >= HIGH_WATER_MARK:
            return False
        self.unsent.append(message)
        return True

    def next_due(self) -> float:
        due = math.inf
        if self.connection is not None and self.connection.down.messages:
            due = self.connection.down.messages[0][0]
        for pipe in self.pipes:
            if pipe.messages:
                due = min(due, pipe.messages[0][0])
        return due

    def close(self, linger: float = 0.0) -> None:
        if self.open:
            self.open = False
            self._network.forget(self)
            if self.connection is not None:
                self.connection.end()

    def _connect(self, delay: float) -> None:
        if not self.open or self.connection is not None:
            return
        connection = self._network.connect(self)
        if connection is None:
            self.connect_after(min(max(2 * delay, RECONNECT_MIN), RECONNECT_MAX))
            return
        self.connection = connection
        now = self.world.now
        while self.unsent and connection.up.push(now, self.unsent[0]):
            self.unsent.popleft()
