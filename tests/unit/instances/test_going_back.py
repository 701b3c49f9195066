"""Effectively once: whatever happens, in whatever order, everything has been counted exactly once."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any, ClassVar

import pytest
from support.tasks.ensemble import Ensemble

from heronpy import Bolt, Grouping, Spout, Topology
from heronpy.state import StatefulComponent
from heronpy.testing.placing import placed
from heronpy.transactions import TransactionalSink

NUMBERS = 60
KEYS = 7


class World:
    """Outside of the topology: what sinks have shown, and what spouts were told."""

    prepared: ClassVar[dict[bytes, list[Any]]] = {}
    committed: ClassVar[dict[bytes, list[Any]]] = {}
    acked: ClassVar[dict[int, list[int]]] = {}
    numbering: ClassVar = itertools.count()


@pytest.fixture(autouse=True)
def world() -> type[World]:
    for memory in (World.prepared, World.committed, World.acked):
        memory.clear()
    return World


class Numbers(StatefulComponent, Spout):
    """Emits its share of the numbers; how far it is, it says when it is saved."""

    outputs: ClassVar = ["key", "number"]

    def init_state(self, state: Any) -> None:
        self.position = state.get("position", 0)

    def initialize(self, config: Any, context: Any) -> None:
        self.index = context.get_task_id() - context.get_component_tasks("numbers")[0]
        acked = World.acked.setdefault(self.index, [])
        assert not acked or acked[-1] < 2 * self.position + self.index, "what was acked comes again"

    def next_tuple(self) -> None:
        if self.position < NUMBERS:
            number = 2 * self.position + self.index
            self.position += 1
            self.emit([number % KEYS, number], tup_id=number)

    def ack(self, tup_id: Any) -> None:
        World.acked[self.index].append(tup_id)

    def fail(self, tup_id: Any) -> None:
        raise AssertionError(tup_id)

    def pre_save(self, checkpoint_id: str) -> None:
        self.state["position"] = self.position


class Left(Bolt):
    """Counts by key, and passes on."""

    outputs: ClassVar = ["key", "number", "side"]

    def process(self, tup: Any) -> None:
        self.state[tup.key] = self.state.get(tup.key, 0) + 1
        self.emit([tup.key, tup.number, "left"])


class Right(Bolt):
    """Makes two of one, so that it runs out of credit."""

    outputs: ClassVar = ["key", "number", "side"]

    def process(self, tup: Any) -> None:
        self.emit([tup.key, tup.number, "right"])
        self.emit([tup.key, [tup.number], "list"])


class Join(Bolt):
    outputs: ClassVar = ["key", "number", "side"]

    def process(self, tup: Any) -> None:
        seen = self.state.get(tup.key, ())
        number = tup.number if tup.side != "list" else tup.number[0]
        self.state[tup.key] = (*seen, (number, tup.side))
        self.emit([tup.key, number, tup.side])


class Ledger(TransactionalSink, Bolt):
    """Shows what was committed."""

    def initialize(self, config: Any, context: Any) -> None:
        self.name = str(context.get_task_id()).encode()

    def begin(self) -> None:
        self.open: list[Any] = []

    def prepare(self, checkpoint: int) -> bytes:
        handle = b"%s/%d" % (self.name, next(World.numbering))
        World.prepared[handle] = self.open
        return handle

    def commit(self, handle: bytes) -> None:
        if handle not in World.committed:
            World.committed[handle] = World.prepared.pop(handle)

    def abort(self) -> None:
        for handle in [one for one in World.prepared if one.startswith(self.name + b"/")]:
            del World.prepared[handle]

    def process(self, tup: Any) -> None:
        self.open.append((tup.number, tup.side))


class Diamond(Topology):
    config: ClassVar = {"topology.reliability.mode": "EFFECTIVELY_ONCE", "topology.key.groups": 16}
    numbers = Numbers.spec(par=2)
    left = Left.spec(par=2, inputs={numbers: Grouping.fields("key")})
    right = Right.spec(par=2, inputs={numbers: Grouping.SHUFFLE})
    join = Join.spec(par=2, inputs={left: Grouping.fields("key"), right: Grouping.fields("key")})
    ledger = Ledger.spec(inputs={join: Grouping.SHUFFLE})


def oracle() -> list[tuple[int, str]]:
    return sorted((number, side) for number in range(2 * NUMBERS) for side in ("left", "right", "list"))


def joined(ensemble: Ensemble) -> list[tuple[int, str]]:
    states = [
        place.task.parts.open_state()
        for place in ensemble.places.values()
        if place.task is not None and place.task.parts.context.get_component_id() == "join"
    ]
    return sorted(seen for state in states for value in state.values() for seen in value)


def shown() -> list[tuple[int, str]]:
    return sorted(row for rows in World.committed.values() for row in rows)


def finish(ensemble: Ensemble) -> None:
    """Until all has been counted and shown, or it is clear that it never will; then one more checkpoint."""
    for _ in range(4000):
        ensemble.round()
        if ensemble.ready and ensemble.drained and len(joined(ensemble)) >= len(oracle()):
            break
    ensemble.checkpoint()


def check(ensemble: Ensemble) -> None:
    assert Counter(joined(ensemble)) == Counter(oracle())
    assert Counter(shown()) == Counter(oracle())
    assert World.prepared == {}


@pytest.mark.parametrize("seed", range(3))
def test_a_topology_that_nothing_happens_to_is_saved_while_it_works(seed: int) -> None:
    plan, find = placed(Diamond, 1)
    ensemble = Ensemble(plan, find, seed)
    try:
        for _ in range(3):
            ensemble.checkpoint()
        finish(ensemble)
        check(ensemble)
        assert World.acked == {index: list(range(index, 2 * NUMBERS, 2)) for index in (0, 1)}
        assert not ensemble.broken
    finally:
        ensemble.close()


@pytest.mark.parametrize("seed", range(12))
def test_whoever_dies_whenever_every_number_is_counted_once(seed: int) -> None:
    print("seed", seed)
    plan, find = placed(Diamond, 1)
    ensemble = Ensemble(plan, find, seed)
    dice, hits = ensemble.dice, 0
    try:
        for _ in range(dice.randint(60, 160)):
            ensemble.round()
            if ensemble.saving:
                ensemble.complete_checkpoint()
                if ensemble.saving and dice.random() < 0.02:
                    ensemble.give_up_checkpoint()
            elif ensemble.ready and dice.random() < 0.3:
                ensemble.begin_checkpoint()
            if dice.random() < 0.05:
                hits += 1
                for place in dice.sample(list(ensemble.places.values()), dice.randint(0, 2)):
                    place.kill()
                ensemble.begin_run()
        finish(ensemble)
        check(ensemble)
        for index, acked in World.acked.items():
            # Those of a spout that went back between the end of a checkpoint and its ack() have none.
            assert acked == sorted(set(acked) & set(range(index, 2 * NUMBERS, 2)))
        assert ensemble.node.run == 1 + hits
    finally:
        ensemble.close()


class WiderDiamond(Topology):
    """The same with other parallelism."""

    config: ClassVar = Diamond.config
    numbers = Numbers.spec(par=2)
    left = Left.spec(inputs={numbers: Grouping.fields("key")})
    right = Right.spec(par=3, inputs={numbers: Grouping.SHUFFLE})
    join = Join.spec(par=3, inputs={left: Grouping.fields("key"), right: Grouping.fields("key")})
    ledger = Ledger.spec(inputs={join: Grouping.SHUFFLE})


@pytest.mark.parametrize("seed", range(4))
def test_what_another_topology_goes_on_with_is_counted_once_by_however_many_tasks(seed: int) -> None:
    plan, find = placed(Diamond, 1)
    first = Ensemble(plan, find, seed)
    try:
        for _ in range(first.dice.randint(1, 6)):
            first.checkpoint()
    finally:
        first.close()
    assert 0 < len(joined_before := shown()) < len(oracle()), joined_before
    plan, find = placed(WiderDiamond, 1)
    second = Ensemble(plan, find, seed, store=first.store, base=first.node.complete[-1], execution="f")
    try:
        finish(second)
        check(second)
    finally:
        second.close()


def test_what_is_lost_on_its_way_breaks_the_run_and_comes_again_in_the_next() -> None:
    plan, find = placed(Diamond, 1)
    ensemble = Ensemble(plan, find, 5)
    try:
        ensemble.checkpoint()
        while not ensemble.lose_data():
            ensemble.round()
        ensemble.begin_checkpoint()  # its barriers show the gap, if no tuple does before
        for _ in range(500):
            ensemble.round()
            if ensemble.broken:
                break
        assert ensemble.broken
        ensemble.begin_run()
        finish(ensemble)
        check(ensemble)
    finally:
        ensemble.close()


class AtMostOnce(Topology):
    config: ClassVar = {"topology.key.groups": 16}
    numbers = Numbers.spec()
    left = Left.spec(par=2, inputs={numbers: Grouping.fields("key")})


def test_at_most_once_a_task_that_dies_goes_on_with_its_own_newest_state_and_nobody_else_notices() -> None:
    plan, find = placed(AtMostOnce, 1)
    ensemble = Ensemble(plan, find, 1)
    left = [ensemble.places[task.id] for task in plan.tasks_of("left")]
    try:
        ensemble.checkpoint()
        while sum(_counted(place.task) for place in left) < NUMBERS:
            ensemble.round()
        ensemble.checkpoint()
        before, others = left[0].task, [ensemble.places[1].task, left[1].task]
        counted = _counted(before)
        assert counted > 0
        left[0].kill()
        while left[0].task is None:
            ensemble.round()
        assert left[0].task is not before
        assert _counted(left[0].task) == counted
        assert [ensemble.places[1].task, left[1].task] == others
        assert ensemble.node.run == 0
    finally:
        ensemble.close()


def _counted(task: Any) -> int:
    return sum(task.parts.open_state().values()) if task is not None else 0
