"""Effectively once in columns: batches that wait, tables and anchors are as they were at the checkpoint."""

from __future__ import annotations

from collections import Counter
from typing import Any, ClassVar

import pyarrow as pa
import pytest
from support.tasks.ensemble import Ensemble

from heronpy import Bolt, Grouping, Schema, Spout, Topology
from heronpy.errors import DefinitionError
from heronpy.state import StatefulComponent
from heronpy.testing import TopologyTest
from heronpy.testing.placing import placed

NUMBERS = 120
#: in more key groups than are encoded at a time
KEYS = 71
SCHEMA = Schema(key=pa.int64(), number=pa.int64())


def batch_of(rows: list[tuple[int, int]]) -> Any:
    keys, numbers = zip(*rows, strict=True)
    return pa.record_batch([pa.array(keys, pa.int64()), pa.array(numbers, pa.int64())], schema=SCHEMA.arrow)


class Numbers(StatefulComponent, Spout):
    """Emits its share of the numbers, in batches of one to five; every third of them as rows."""

    outputs: ClassVar[Any] = SCHEMA

    def init_state(self, state: Any) -> None:
        self.position = state.get("position", 0)

    def initialize(self, config: Any, context: Any) -> None:
        self.index = context.get_task_id() - context.get_component_tasks("numbers")[0]

    def next_tuple(self) -> None:
        end = min(self.position + 1 + self.position % 5, NUMBERS)
        rows = [((2 * n + self.index) % KEYS, 2 * n + self.index) for n in range(self.position, end)]
        if rows and end % 3:
            self.emit_batch(batch_of(rows), tup_id=end)
        elif rows:
            self.emit_many(rows, tup_id=end)
        self.position = end

    def pre_save(self, checkpoint_id: str) -> None:
        self.state["position"] = self.position


class Doubled(Bolt):
    """Makes two of one, so that it runs out of credit."""

    outputs: ClassVar[Any] = SCHEMA

    def process_columns(self, batch: Any) -> None:
        self.emit_batch(batch)
        self.emit_batch(batch)


class Sums(Bolt):
    """How many numbers each key has had, their sum, and the largest."""

    def initialize(self, config: Any, context: Any) -> None:
        self.sums = self.state.table("sums", count="int64", sum="int64")
        self.largest = self.state.table("largest", number="int64")

    def process_columns(self, batch: Any) -> None:
        import numpy as np

        key, number = batch.columns
        self.sums.add([key], {"count": 1, "sum": number})
        self.largest.merge([key], {"number": number}, np.maximum)


class Columns(Topology):
    config: ClassVar = {"topology.reliability.mode": "EFFECTIVELY_ONCE", "topology.key.groups": 64}
    numbers = Numbers.spec(par=2)
    doubled = Doubled.spec(par=2, inputs={numbers: Grouping.SHUFFLE})
    sums = Sums.spec(par=2, inputs={doubled: Grouping.fields("key")})


class WiderColumns(Topology):
    config: ClassVar = Columns.config
    numbers = Numbers.spec(par=2)
    doubled = Doubled.spec(par=3, inputs={numbers: Grouping.SHUFFLE})
    sums = Sums.spec(par=3, inputs={doubled: Grouping.fields("key")})


def expected() -> dict[int, tuple[int, int, int]]:
    numbers = range(2 * NUMBERS)
    return {
        key: (2 * len(numbers[key::KEYS]), 2 * sum(numbers[key::KEYS]), numbers[key::KEYS][-1])
        for key in range(KEYS)
    }


def summed(ensemble: Ensemble) -> dict[int, tuple[int, int, int]]:
    found: dict[int, tuple[int, int, int]] = {}
    for place in ensemble.places.values():
        component = place.task.component if place.task is not None else None
        if isinstance(component, Sums) and hasattr(component, "largest"):
            sums = component.sums.batch().to_pydict()
            largest = component.largest.batch().to_pydict()
            tops = dict(zip(largest["key"], largest["number"], strict=True))
            for key, count, total in zip(sums["key"], sums["count"], sums["sum"], strict=True):
                assert key not in found, "a key has one owner"
                found[key] = (count, total, tops[key])
    return found


def finish(ensemble: Ensemble) -> None:
    for _ in range(4000):
        ensemble.round()
        counted = sum(count for count, _, _ in summed(ensemble).values())
        if ensemble.ready and ensemble.drained and counted >= 4 * NUMBERS:
            break
    ensemble.checkpoint()


@pytest.mark.parametrize("seed", range(6))
def test_whoever_dies_whenever_every_number_is_summed_once(seed: int) -> None:
    plan, find = placed(Columns, 1)
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
        assert summed(ensemble) == expected()
        assert ensemble.node.run == 1 + hits
    finally:
        ensemble.close()


@pytest.mark.parametrize("seed", range(3))
def test_what_another_topology_goes_on_with_is_summed_once_by_however_many_tasks(seed: int) -> None:
    plan, find = placed(Columns, 1)
    first = Ensemble(plan, find, seed)
    try:
        for _ in range(first.dice.randint(2, 6)):
            first.checkpoint()
    finally:
        first.close()
    plan, find = placed(WiderColumns, 1)
    second = Ensemble(plan, find, seed, store=first.store, base=first.node.complete[-1], execution="f")
    try:
        finish(second)
        assert summed(second) == expected()
    finally:
        second.close()


def test_only_what_has_changed_is_saved_again() -> None:
    plan, find = placed(Columns, 1)
    ensemble = Ensemble(plan, find, 1)
    try:
        finish(ensemble)
        ensemble.checkpoint()
        before = Counter(name.rpartition("/")[0] for name in ensemble.store.objects)
        ensemble.checkpoint()
        after = Counter(name.rpartition("/")[0] for name in ensemble.store.objects)
        assert summed(ensemble) == expected()
        sums = [task.id for task in plan.tasks_of("sums")]
        written = set(after) - set(before)
        names = [name for name in ensemble.store.objects if name.rpartition("/")[0] in written]
        assert not [name for name in names for task in sums if f"/{task}-" in name]
    finally:
        ensemble.close()


class Rows(Spout):
    outputs: ClassVar[Any] = ["key", "number"]


class Unkeyed(Bolt):
    def initialize(self, config: Any, context: Any) -> None:
        self.state.table("sums", count="int64")

    def process(self, tup: Any) -> None: ...


class Nameless(Topology):
    rows = Rows.spec()
    unkeyed = Unkeyed.spec(inputs={rows: Grouping.SHUFFLE})


class Untyped(Topology):
    rows = Rows.spec()
    unkeyed = Unkeyed.spec(inputs={rows: Grouping.fields("key")})


@pytest.mark.parametrize(
    ("topology", "message"),
    [
        (Nameless, "this component reads nothing by fields grouping"),
        (Untyped, "stream 'default' of 'rows' has no Schema for the keys of a table"),
    ],
)
def test_a_table_needs_keys_and_their_types(topology: Any, message: str) -> None:
    with TopologyTest(topology) as run, pytest.raises(DefinitionError, match=message):
        run.run()
