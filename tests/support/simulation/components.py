"""Spouts and bolts whose every tuple can be accounted for, and the source that they read from."""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING, Any

from heronpy.bolt import Bolt
from heronpy.spout import Spout
from heronpy.tuple import Tuple

if TYPE_CHECKING:
    from support.simulation.instance import Instance

#: numbers of one spout task lie below the next task's
PER_TASK = 10_000_000


class Source:
    """Where a spout task reads: it outlives the spout, hands out each number once, and replays on request."""

    def __init__(self, task: int, *, replays: bool) -> None:
        self._first = task * PER_TASK
        self._replays = replays
        self._owner = 0
        self._again: deque[int] = deque()
        self._unacked: dict[int, None] = {}
        self.taken = 0
        #: how many it has
        self.limit = 0
        self.acked: set[int] = set()
        self.replayed = 0

    def open(self, incarnation: int) -> None:
        """A spout begins to read. If the source can replay, what its predecessor did not ack comes again."""
        self._owner = incarnation
        self._again = deque(self._unacked if self._replays else ())

    def take(self, incarnation: int) -> int | None:
        """The next number, or None; one who has been replaced gets no more."""
        if incarnation != self._owner:
            return None
        if self._again:
            self.replayed += 1
            return self._again.popleft()
        if self.taken >= self.limit:
            return None
        number = self._first + self.taken
        self.taken += 1
        self._unacked[number] = None
        return number

    def on_ack(self, number: int) -> None:
        self.acked.add(number)
        self._unacked.pop(number, None)

    def on_fail(self, incarnation: int, number: int) -> None:
        if incarnation == self._owner and number in self._unacked:
            self._again.append(number)

    @property
    def numbers(self) -> range:
        """All that were handed out."""
        return range(self._first, self._first + self.taken)

    @property
    def exhausted(self) -> bool:
        return self.taken >= self.limit and not self._again


class Ledger:
    """What has reached the sinks, and what no receiver should have seen."""

    def __init__(self) -> None:
        #: (number, component it came from) → times
        self.arrived: Counter[tuple[int, str]] = Counter()
        self.violations: list[str] = []


class Order:
    """Holds each emitter to its word: no repeat, no tuple out of order, nothing of a replaced one."""

    def __init__(self, host: Instance) -> None:
        self._host = host
        self._last: dict[int, tuple[int, int]] = {}

    def check(self, tup: Tuple) -> None:
        _, serial, life = tup.values
        last = self._last.get(tup.task, (0, -1))
        if (life, serial) <= last:
            what = "after its successor" if life < last[0] else "twice or too late"
            found = f"{self._host.name} got tuple {serial} of task {tup.task} (incarnation {life}) {what}"
            self._host.ledger.violations.append(f"order: {found}; the last was {last}")
        self._last[tup.task] = (life, serial)


class Numbers(Spout):
    """Emits what its source gives it, some at a time."""

    outputs = ["number", "serial", "life"]
    host: Instance

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self._serial = 0
        self._source = self.host.source
        self._source.open(self.host.incarnation)

    def next_tuple(self) -> None:
        host = self.host
        for _ in range(host.burst):
            number = self._source.take(host.incarnation)
            if number is None:
                return
            host.spend(host.cost)
            self._serial += 1
            self.emit([number, self._serial, host.incarnation], tup_id=number)

    def ack(self, tup_id: int) -> None:
        self._source.on_ack(tup_id)

    def fail(self, tup_id: int) -> None:
        self._source.on_fail(self.host.incarnation, tup_id)


class Relay(Bolt):
    """Hands every number on."""

    outputs = ["number", "serial", "life"]
    host: Instance

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self._serial = 0
        self._order = Order(self.host)

    def process(self, tup: Tuple) -> None:
        self._order.check(tup)
        self.host.spend(self.host.cost)
        self._serial += 1
        self.emit([tup.values[0], self._serial, self.host.incarnation], anchors=[tup])
        self.ack(tup)


class Sink(Bolt):
    """Writes into the ledger."""

    host: Instance

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self._order = Order(self.host)

    def process(self, tup: Tuple) -> None:
        self._order.check(tup)
        self.host.spend(self.host.cost)
        self.host.ledger.arrived[tup.values[0], tup.component] += 1
        self.ack(tup)
