"""A topology whose every tuple can be accounted for, whoever has it while the plan changes."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from heronpy.bolt import Bolt
from heronpy.kernel.plans import (
    Component,
    ContainerPlan,
    DeclaredGrouping,
    DeclaredStream,
    Input,
    InstancePlan,
    LogicalPlan,
    PackingPlan,
    PhysicalPlan,
    Resources,
    physical_plan,
)
from heronpy.spout import Spout
from heronpy.transactions import TransactionalSink
from heronpy.tuple import Tuple

SPLITS = tuple(f"s{number}" for number in range(5))
KEYS = 11


def key_of(split: str, number: int) -> str:
    return f"k{zlib.crc32(f'{split}-{number}'.encode()) % KEYS}"


class Ledger:
    """What has come where, and what no component should ever see."""

    def __init__(self, per_split: int) -> None:
        self.per_split = per_split
        self.emitted: Counter[tuple[str, int]] = Counter()
        #: key → the counts that the sink was told, in order
        self.told: dict[str, list[int]] = {}
        #: number of what came over each other grouping → times
        self.arrived: dict[str, Counter[tuple[str, int]]] = {
            name: Counter() for name in ("relay", "watch", "lowest", "odd", "named")
        }
        self.acked: Counter[tuple[str, int]] = Counter()
        self.failed: Counter[tuple[str, int]] = Counter()
        self.committed: list[tuple[str, int]] = []
        self.violations: list[str] = []
        self.plan_changes = 0
        self.drained = 0

    @property
    def expected(self) -> Counter[str]:
        return Counter(key_of(split, number) for split in SPLITS for number in range(self.per_split))

    def everything(self) -> Counter[tuple[str, int]]:
        return Counter({(split, number): 1 for split in SPLITS for number in range(self.per_split)})


class Orders(Spout):
    """Reads its splits from where the state says."""

    ledger: Ledger
    splits: Sequence[str]

    def next_tuple(self) -> None:
        for split in self.splits:
            number = self.state.get(split, 0)
            if number < self.ledger.per_split:
                self.state[split] = number + 1
                self.ledger.emitted[split, number] += 1
                self.emit([split, number], tup_id=(split, number))

    def ack(self, tup_id: tuple[str, int]) -> None:
        self.ledger.acked[tup_id] += 1

    def fail(self, tup_id: tuple[str, int]) -> None:
        self.ledger.failed[tup_id] += 1

    def on_plan_change(self, context: Any) -> None:
        self.ledger.plan_changes += 1


class Relay(Bolt):
    """Emits several tuples for each, one of them to a task that it names."""

    ledger: Ledger

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self._context = context

    def process(self, tup: Tuple) -> None:
        split, number = tup.values
        self.ledger.arrived["relay"][split, number] += 1
        self.emit([key_of(split, number), split, number], anchors=[tup])
        tasks = self._context.get_component_tasks("named")
        self.emit([split, number], stream="named", anchors=[tup], direct_task=tasks[number % len(tasks)])
        self.ack(tup)


class Count(Bolt):
    """Counts by key, and keeps a few tuples back until drain()."""

    ledger: Ledger

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self._kept: list[Tuple] = []

    def process(self, tup: Tuple) -> None:
        self._kept.append(tup)
        if len(self._kept) >= 3:
            self.drain()

    def process_tick(self, tup: Tuple) -> None:
        self.drain()

    def drain(self) -> None:
        while self._kept:
            tup = self._kept.pop(0)
            key = tup.values[0]
            total = self.state[key] = self.state.get(key, 0) + 1
            self.emit([key, total], anchors=[tup])
            self.ack(tup)
        self.ledger.drained += 1


class Sink(Bolt):
    """Is told every count of a key in order, whoever counts."""

    ledger: Ledger

    def process(self, tup: Tuple) -> None:
        key, total = tup.values
        if self.state.get(key, 0) != total - 1:
            self.ledger.violations.append(f"{key}: {total} after {self.state.get(key)}")
        self.state[key] = total
        self.ledger.told.setdefault(key, []).append(total)
        self.ack(tup)


class Watch(Bolt):
    """Notes what comes."""

    ledger: Ledger
    name = ""

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self._seen: set[tuple[str, int]] = set()
        self._name = context.get_component_id()

    def process(self, tup: Tuple) -> None:
        split, number = tup.values
        if (split, number) in self._seen:
            self.ledger.violations.append(f"{self._name} got {split}-{number} twice")
        self._seen.add((split, number))
        self.ledger.arrived[self._name][split, number] += 1
        self.ack(tup)


class Written(TransactionalSink, Bolt):
    """Keeps what it gets until it is told to commit it."""

    ledger: Ledger

    def begin(self) -> None:
        self.open: list[tuple[str, int]] = []

    def process(self, tup: Tuple) -> None:
        self.open.append((tup.values[0], tup.values[1]))
        self.ack(tup)

    def prepare(self, checkpoint: int) -> bytes:
        return msgspec.msgpack.encode(self.open)

    def commit(self, handle: bytes) -> None:
        self.ledger.committed += msgspec.msgpack.decode(handle, type=list[tuple[str, int]])

    def abort(self) -> None:
        """Nothing is left anywhere."""


class ByOddness:
    """A grouping of one's own."""

    def prepare(self, context: Any, component: str, stream: str, target_tasks: list[int]) -> None:
        self._tasks = target_tasks

    def choose_tasks(self, values: Sequence[Any]) -> list[int]:
        return [self._tasks[values[1] % len(self._tasks)]]


_ALL = (Orders, Relay, Count, Sink, Watch, Written, ByOddness)
CLASSES: dict[str, type[Any]] = {cls.__name__: cls for cls in _ALL}


def shop(parallelism: Mapping[str, int], reliability: Any, schemas: Mapping[str, bytes] = {}) -> PhysicalPlan:
    """orders → relay → count → sink, and watchers of orders and relay by every other grouping.

    `schemas`: of the streams of some components, and of "named".
    """

    def reads(component: str, kind: Any, *fields: str, stream: str = "default") -> tuple[Input, ...]:
        class_path = "ByOddness" if kind == "custom" else ""
        return (Input(component, stream, DeclaredGrouping(kind, fields, class_path)),)

    def bolt(name: str, cls: str, inputs: tuple[Input, ...], *outputs: DeclaredStream) -> Component:
        ticks = {"topology.tick.tuple.freq.secs": 0.05} if cls == "Count" else {}
        return Component(name, "bolt", cls, parallelism.get(name, 1), inputs, outputs, ticks)

    order = DeclaredStream("default", ("split", "number"), schema=schemas.get("orders", b""))
    relayed = DeclaredStream("default", ("key", "split", "number"), schema=schemas.get("relay", b""))
    named = DeclaredStream("named", ("split", "number"), direct=True, schema=schemas.get("named", b""))
    total = DeclaredStream("default", ("key", "total"), schema=schemas.get("count", b""))
    logical = LogicalPlan(
        "shop",
        (
            Component("orders", "spout", "Orders", parallelism["orders"], outputs=(order,), splits=SPLITS),
            bolt(
                "relay",
                "Relay",
                reads("orders", "shuffle"),
                relayed,
                named,
            ),
            bolt("count", "Count", reads("relay", "fields", "key"), total),
            bolt("sink", "Sink", reads("count", "fields", "key")),
            bolt("watch", "Watch", reads("orders", "all")),
            bolt("lowest", "Watch", reads("orders", "global")),
            bolt("odd", "Watch", reads("orders", "custom")),
            bolt("written", "Written", reads("orders", "fields", "number")),
            bolt("named", "Watch", reads("relay", "direct", stream="named")),
        ),
        {"topology.message.timeout.secs": 100_000},
        reliability=reliability,
        key_groups=16,
    )
    names = [(one.name, index) for one in logical.components for index in range(one.parallelism)]
    instances = [InstancePlan(task, name, index) for task, (name, index) in enumerate(names, 1)]
    containers = tuple(
        ContainerPlan(number + 1, tuple(instances[number::2]), Resources()) for number in range(2)
    )
    return physical_plan(logical, PackingPlan("shop", "test", containers, len(names) + 1))
