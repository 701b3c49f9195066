"""A topology in which every row has an event time, and a ledger that knows whether it came late."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from heronpy.bolt import Bolt
from heronpy.instances.task.build import Task
from heronpy.kernel.flow.watermarks import END, UNKNOWN
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
from heronpy.tuple import Tuple

SPLITS = tuple(f"s{number}" for number in range(4))
KEYS = 12
GROUPS = 6
#: length of a window
LENGTH = 10


class Ledger:
    """What was emitted, and what must never happen."""

    def __init__(self, seed: int, rows: int | None = None) -> None:
        self.seed = seed
        self.dice = random.Random(f"river {seed}")
        #: how many each split has, where rows are read again; None: as many as are taken while it flows
        self.rows = rows
        self.flowing = True
        #: of each split, how fast its time goes
        self.pace = self.dice.sample([1, 1, 2, 5], len(SPLITS))
        #: (split, number) → (key, end of its window), of rows that were emitted
        self.emitted: dict[tuple[str, int], tuple[str, int]] = {}
        self.violations: list[str] = []
        #: (component, key) → how far it has come, as last seen
        self._reached: dict[tuple[str, str], int] = {}
        #: tasks of the last component that have heard of the end
        self.ended: set[int] = set()

    @property
    def expected(self) -> Counter[tuple[str, int]]:
        """(key, end of a window) → rows."""
        return Counter(self.emitted.values())

    def has_more(self, number: int) -> bool:
        return self.flowing and (self.rows is None or number < self.rows)

    def row(self, split: str, number: int, time: int) -> tuple[str, int]:
        """Key and time of the next row of a split, the same whenever it is emitted."""
        drawn = random.Random(f"{self.seed} {split} {number}")
        return f"k{drawn.randrange(KEYS)}", time + drawn.randint(0, self.pace[SPLITS.index(split)])

    def see(self, component: str, key: str, at: int) -> None:
        """The watermark of a key, wherever it is."""
        if self.rows is not None:
            return  # it goes back with the topology, task by task
        before = self._reached.get((component, key), UNKNOWN)
        if at < before:
            self.violations.append(f"back: {component} {key} from {before} to {at}")
        self._reached[component, key] = max(at, before)

    def come(self, component: str, key: str, time: int, low: int) -> None:
        """A row that was on time at its source."""
        if time < low:
            self.violations.append(f"late: {component} {key} {time} behind {low}")


class Spring(Spout):
    """Each split is in order; how far it is, is its state."""

    ledger: Ledger
    splits: Sequence[str]

    def next_tuple(self) -> None:
        dice = self.ledger.dice
        if self.splits and dice.random() < 0.8:
            self._emit_of(dice.choice(self.splits))
        if dice.random() < 0.4:
            self._say()

    def _emit_of(self, split: str) -> None:
        number, time = self.state.get(split, (0, 0))
        if self.ledger.has_more(number):
            key, time = self.ledger.row(split, number, time)
            self.ledger.emitted[split, number] = key, time // LENGTH * LENGTH + LENGTH
            self.emit([key, time])
            self.state[split] = number + 1, time

    def _say(self) -> None:
        times = [self._time(split) for split in self.splits]
        self.emit_watermark(min(times, default=UNKNOWN), not times)

    def _time(self, split: str) -> int:
        number, time = self.state.get(split, (0, 0))
        return time if self.ledger.has_more(number) else END

    def on_plan_change(self, context: Any) -> None:
        self._say()


class Ford(Bolt):
    """Knows nothing of time."""

    ledger: Ledger

    def process(self, tup: Tuple) -> None:
        self.emit(list(tup.values))


class Kept(NamedTuple):
    """What the windows of a key are."""

    #: how far the key had come when it was last seen
    reached: int = UNKNOWN
    #: end of a window → rows
    open: Mapping[int, int] = {}
    fired: Mapping[int, int] = {}


class Windows(Bolt):
    """Counts by key and window; a window fires when the watermark of its key has passed it."""

    ledger: Ledger

    def process(self, tup: Tuple) -> None:
        key, time = tup.values
        kept = self._look(key)
        self.ledger.come("windows", key, time, kept.reached)
        end = time // LENGTH * LENGTH + LENGTH
        opened = {**kept.open, end: kept.open.get(end, 0) + 1}
        self.state[key] = (kept.reached, opened, kept.fired)

    def _look(self, key: str) -> Kept:
        kept = Kept(*self.state.get(key, ()))
        low = self.watermark_of(key)
        self.ledger.see("windows", key, low)
        if low < kept.reached:
            self.ledger.violations.append(f"forgotten: {key} from {kept.reached} to {low}")
        return kept._replace(reached=low)

    def on_watermark(self, at: int, idle: bool) -> Iterator[None]:
        for key in sorted(self.state):
            kept = self._look(key)
            due = {end: kept.open[end] for end in sorted(kept.open) if end <= kept.reached}
            for end, count in due.items():
                if end in kept.fired:
                    self.ledger.violations.append(f"twice: {key} {end}")
                self.emit([key, end - 1, count])
            left = {end: count for end, count in kept.open.items() if end not in due}
            self.state[key] = (kept.reached, left, {**kept.fired, **due})
            if due:
                yield
        self.emit_watermark(at, idle)


class Mouth(Bolt):
    """Sees what fired; by key it goes by the key's watermark, else by the task's."""

    ledger: Ledger

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self._keyed = config["by"] == "fields"
        self._task = context.get_task_id()
        self._reached = UNKNOWN

    def process(self, tup: Tuple) -> None:
        key, time, count = tup.values
        low = self._reached
        if self._keyed:
            low = self.watermark_of(key)
            self.ledger.see("mouth", key, low)
            self.state[key] = {**self.state.get(key, {}), time + 1: count}
        self.ledger.come("mouth", key, time, low)

    def on_watermark(self, at: int, idle: bool) -> None:
        self._reached = at
        if at == END:
            self.ledger.ended.add(self._task)


CLASSES: dict[str, type[Any]] = {cls.__name__: cls for cls in (Spring, Ford, Windows, Mouth)}


def river(parallelism: Mapping[str, int], by: Any, reliability: Any = "at_most_once") -> PhysicalPlan:
    """springs → fords → windows by key → mouth, by key or not."""

    def reads(component: str, kind: Any) -> tuple[Input, ...]:
        return (Input(component, "default", DeclaredGrouping(kind, ("key",) if kind == "fields" else ())),)

    timed = (DeclaredStream("default", ("key", "time")),)
    counted = (DeclaredStream("default", ("key", "time", "count")),)
    many = parallelism.get
    logical = LogicalPlan(
        "river",
        (
            Component("springs", "spout", "Spring", many("springs", 1), outputs=timed, splits=SPLITS),
            Component("fords", "bolt", "Ford", many("fords", 1), reads("springs", "shuffle"), timed),
            Component(
                "windows",
                "bolt",
                "Windows",
                many("windows", 1),
                reads("fords", "fields"),
                counted,
                hears_watermarks=True,
            ),
            Component(
                "mouth",
                "bolt",
                "Mouth",
                many("mouth", 1),
                reads("windows", by),
                config={"by": by},
                hears_watermarks=True,
            ),
        ),
        reliability=reliability,
        key_groups=GROUPS,
    )
    names = [(one.name, index) for one in logical.components for index in range(one.parallelism)]
    instances = [InstancePlan(task, name, index) for task, (name, index) in enumerate(names, 1)]
    containers = tuple(
        ContainerPlan(number + 1, tuple(instances[number::2]), Resources()) for number in range(2)
    )
    return physical_plan(logical, PackingPlan("river", "test", containers, len(names) + 1))


def fired(tasks: Iterable[Task], ledger: Ledger) -> None:
    """At the end: every window has fired once, with all its rows, and has arrived where it is counted."""
    for name, field in (("windows", 2), ("mouth", None)):
        found: Counter[tuple[str, int]] = Counter()
        members = [task for task in tasks if task.parts.context.get_component_id() == name]
        if field is None and members[0].parts.context.get_cluster_config()["by"] != "fields":
            continue
        for task in members:
            for key, kept in task.parts.open_state().items():
                counts = kept if field is None else kept[field]
                found.update({(key, end): count for end, count in counts.items()})
        if found != ledger.expected:
            ledger.violations.append(f"counts: {name} has not what was emitted")
