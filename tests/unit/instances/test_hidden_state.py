"""State that a look at the code would not find: scaled, all of it is there; or the change is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from support.tasks.crew.crew import Crew
from support.tasks.crew.shop import CLASSES, SPLITS, Ledger
from support.tasks.crew.updates import Updates

from heronpy.bolt import BasicBolt, Bolt
from heronpy.instances.flow_settings import FlowSettings
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
from heronpy.state import State, StatefulComponent
from heronpy.tuple import Tuple

FLOW = FlowSettings(batch_tuples=4, credit_initial=6, linger=0.002, credit_probe=0.2, spout_calls=2)
PER_SPLIT = 30
STEPS = 60_000
GUARANTEES = ("at_most_once", "at_least_once", "effectively_once")


class Wrapped(BasicBolt):
    """The base class wraps process."""

    def process(self, tup: Tuple) -> None:
        self.state[tup.values[0]] = self.state.get(tup.values[0], 0) + 1


def plainly(process: Callable[..., None]) -> Callable[..., None]:
    """A decorator without functools.wraps."""

    def inner(*given: Any) -> None:
        process(*given)

    return inner


class Decorated(Bolt):
    @plainly
    def process(self, tup: Tuple) -> None:
        self.state[tup.values[0]] = self.state.get(tup.values[0], 0) + 1
        self.ack(tup)


def count(bolt: Bolt, key: str) -> None:
    bolt.state[key] = bolt.state.get(key, 0) + 1


class Helped(Bolt):
    """A function elsewhere does it."""

    def process(self, tup: Tuple) -> None:
        count(self, tup.values[0])
        self.ack(tup)


class Order:
    state = "new"


class Beside(Bolt):
    """Another object has an attribute of the same name."""

    def process(self, tup: Tuple) -> None:
        order = Order()
        order.state = "seen"
        self.state[tup.values[0]] = self.state.get(tup.values[0], 0) + 1
        self.ack(tup)


class Inherits(Helped):
    """Has no code of its own."""


class BeforeSaving(Bolt, StatefulComponent):
    """Puts into its state what it knows when it is saved, and not before."""

    _kept: State

    def init_state(self, stateful_state: State) -> None:
        self._kept = stateful_state
        self.counts: Counter[str] = Counter()

    def process(self, tup: Tuple) -> None:
        self.counts[tup.values[0]] += 1
        self.ack(tup)

    def pre_save(self, checkpoint_id: str) -> None:
        for key, number in self.counts.items():
            self._kept.put(key, number)


class Begins(Helped):
    """Sets it before any tuple has come."""

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.state["begun"] = 0


class NoState(Bolt):
    """Only another object has an attribute of that name."""

    def process(self, tup: Tuple) -> None:
        order = Order()
        order.state = "seen"
        self.ack(tup)


HIDDEN = (Wrapped, Decorated, Helped, Beside, Inherits)
KINDS: dict[str, type[Any]] = {cls.__name__: cls for cls in (*HIDDEN, BeforeSaving, Begins, NoState)}


def plan(cls: str, grouping: DeclaredGrouping, reliability: Any, parallelism: int) -> PhysicalPlan:
    order = DeclaredStream("default", ("split", "number"))
    logical = LogicalPlan(
        "orders",
        (
            Component("orders", "spout", "Orders", 2, outputs=(order,), splits=SPLITS),
            Component("keep", "bolt", cls, parallelism, (Input("orders", "default", grouping),)),
        ),
        {"topology.message.timeout.secs": 100_000},
        reliability=reliability,
        key_groups=16,
    )
    names = [(one.name, index) for one in logical.components for index in range(one.parallelism)]
    instances = tuple(InstancePlan(task, name, index) for task, (name, index) in enumerate(names, 1))
    container = ContainerPlan(1, instances, Resources())
    return physical_plan(logical, PackingPlan("orders", "test", (container,), len(names) + 1))


class Shop:
    """Orders that are counted, and `keep` that is scaled when half of them have come."""

    def __init__(self, cls: str, grouping: DeclaredGrouping, reliability: str, parallelism: int) -> None:
        self.ledger = Ledger(PER_SPLIT)
        first = plan(cls, grouping, reliability, parallelism)
        self.crew = Crew(first, {**CLASSES, **KINDS}.__getitem__, FLOW, 7, self.ledger)
        self.updates = Updates(self.crew)

    def scale(self, count: int, *, accepts_loss: bool = False) -> None:
        """Through to the end of the orders."""
        asked = False
        for _ in range(STEPS):
            self.crew.step()
            self.updates.step()
            emitted = sum(self.ledger.emitted.values())
            if not asked and emitted > 2 * PER_SPLIT:
                asked = True
                self.updates.begin({"keep": count}, STEPS, accepts_loss=accepts_loss)
            over = asked and not self.updates.running and emitted == len(SPLITS) * PER_SPLIT
            if over and all(actor.quiet for actor in self.crew.actors.values()):
                return
        pytest.fail("it has not come to an end")

    def counted(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for task in self.crew.plan.tasks_of("keep"):
            made = self.crew.actors[task.id].task
            assert made is not None
            component: Any = made.component
            found.update(getattr(component, "counts", None) or dict(component.state))
        return +found

    def everything(self) -> Counter[str]:
        return Counter(dict.fromkeys(SPLITS, PER_SPLIT))

    def close(self) -> None:
        self.crew.close()


SHUFFLED = DeclaredGrouping("shuffle")
BY_SPLIT = DeclaredGrouping("fields", ("split",))


@pytest.mark.parametrize("reliability", GUARANTEES)
@pytest.mark.parametrize("kind", [*(cls.__name__ for cls in HIDDEN), "BeforeSaving", "Begins"])
def test_by_shuffle_more_tasks_are_fine_and_fewer_are_refused(kind: str, reliability: str) -> None:
    """Each task counts a part, so that a task more changes nothing; a task less takes its part along."""
    more = Shop(kind, SHUFFLED, reliability, 2)
    fewer = Shop(kind, SHUFFLED, reliability, 2)
    try:
        more.scale(3)
        assert (more.updates.done, more.counted()) == (1, more.everything())
        fewer.scale(1)
        assert (fewer.updates.rolled_back, fewer.counted()) == (1, fewer.everything())
    finally:
        more.close()
        fewer.close()
    assert len(fewer.crew.plan.tasks_of("keep")) == 2
    (reason,) = fewer.updates.objections
    assert reason.startswith("state of keep[1] (")
    assert reason.endswith("belongs to no key and ends with its task")


@pytest.mark.parametrize("reliability", GUARANTEES)
@pytest.mark.parametrize("tasks", [1, 3])
@pytest.mark.parametrize("kind", [cls.__name__ for cls in HIDDEN])
def test_by_key_it_moves_without_a_question(kind: str, tasks: int, reliability: str) -> None:
    shop = Shop(kind, BY_SPLIT, reliability, 2)
    try:
        shop.scale(tasks)
        assert (shop.updates.done, shop.counted()) == (1, shop.everything())
    finally:
        shop.close()
    assert shop.updates.objections == []


@pytest.mark.parametrize("reliability", GUARANTEES)
@pytest.mark.parametrize("tasks", [1, 3])
def test_a_state_per_task_does_not_follow_keys(tasks: int, reliability: str) -> None:
    shop = Shop("BeforeSaving", BY_SPLIT, reliability, 2)
    try:
        shop.scale(tasks)
        assert (shop.updates.rolled_back, shop.counted()) == (1, shop.everything())
    finally:
        shop.close()
    assert "state of keep[" in shop.updates.objections[0]


@pytest.mark.parametrize("reliability", GUARANTEES)
@pytest.mark.parametrize("tasks", [1, 3])
def test_an_attribute_of_another_object_is_no_state(tasks: int, reliability: str) -> None:
    shop = Shop("NoState", SHUFFLED, reliability, 2)
    try:
        shop.scale(tasks)
    finally:
        shop.close()
    assert (shop.updates.done, shop.updates.objections) == (1, [])


def test_whoever_agrees_loses_what_was_said_and_nothing_else() -> None:
    shop = Shop("Wrapped", SHUFFLED, "effectively_once", 2)
    given_up: Counter[str] = Counter()
    end = shop.crew.end

    def note(task: int) -> None:
        made = shop.crew.actors[task].task
        assert made is not None
        given_up.update(dict(made.component.state))
        end(task)

    shop.crew.end = note  # type: ignore[method-assign]
    try:
        shop.scale(1, accepts_loss=True)
        assert shop.updates.done == 1
        assert shop.counted() + given_up == shop.everything()
    finally:
        shop.crew.end = end  # type: ignore[method-assign]
        shop.close()
    entries = f"{len(given_up)} {'entry' if len(given_up) == 1 else 'entries'}"
    assert shop.updates.objections == [
        f"state of keep[1] ({entries}) belongs to no key and ends with its task"
    ]
