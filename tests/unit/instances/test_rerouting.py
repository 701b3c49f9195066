"""Rows that wait while a component is scaled: each grouping says who gets them then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tasks.emitter import MY_INCARNATION, Emitter
from support.tasks.plans import edge

from heronpy.instances.acking.anchored import Edges, pairs
from heronpy.instances.acking.edges import random_edges, xor_of
from heronpy.instances.output.fast_lane import fast_lane
from heronpy.instances.output.groupings.custom import Chooser
from heronpy.kernel.flow.batches import RowBatch
from heronpy.kernel.flow.credit import Grant
from heronpy.kernel.flow.frame import DATA, SIGNAL
from heronpy.kernel.flow.keys import key_group
from heronpy.kernel.flow.signals import EndOfInput, Marker
from heronpy.kernel.plans import (
    ContainerPlan,
    Input,
    InstancePlan,
    PackingPlan,
    PhysicalPlan,
    Resources,
    affected,
    next_plan,
)


def scaled(plan: PhysicalPlan, count: int) -> PhysicalPlan:
    """The next plan, with so many tasks of `count`; new ones have ids from 20 on."""
    kept = [
        InstancePlan(task.id, task.component, task.index)
        for task in plan.tasks
        if task.component == "words" or task.index < count
    ]
    known = len(plan.tasks_of("count"))
    kept += [InstancePlan(20 + index, "count", index) for index in range(known, count)]
    places = {task.id: task.container for task in plan.tasks}
    containers = tuple(
        ContainerPlan(number, tuple(one for one in kept if places.get(one.task, 1) == number), Resources())
        for number in plan.containers()
    )
    return next_plan(plan, PackingPlan(plan.topology, "test", containers, 50), plan.epoch + 1)


class ByNumber:
    """The task at the second value's place."""

    def __init__(self, tasks: Sequence[int]) -> None:
        self._tasks = tasks

    def choose_tasks(self, values: Sequence[Any]) -> list[int]:
        return [self._tasks[values[1] % len(self._tasks)]]


class Scaling(Emitter):
    """An emitter whose reader is scaled; its rows wait, since everything is held."""

    def __init__(self, *edges: Input, par: int, **settings: Any) -> None:
        super().__init__(*edges, par=par, **settings)
        self.settled: list[Edges] = []
        self.collector.settle = self.settled.append
        self.outbox.cut([task.id for task in self.plan.tasks_of("count")], self.plan.epoch + 1)

    def _custom(self, _: Input, tasks: Sequence[int]) -> Chooser:
        return ByNumber(list(tasks))

    def scale(self, count: int) -> PhysicalPlan:
        plan = scaled(self.plan, count)
        self.outbox.use_plan(plan)
        self.collector.use_plan(self.plan, plan, affected(self.plan, plan))
        for task in plan.tasks_of("count"):
            self.outbox.on_grant(task.id, 9, Grant(MY_INCARNATION, 0, 10_000))
        self.outbox.flush()
        return plan

    def arrived(self) -> dict[int, list[int]]:
        """Task → the numbers that it was sent, in order."""
        found: dict[int, list[int]] = {}
        for frame in self.link.frames:
            if frame.prefix.kind == DATA:
                found.setdefault(frame.prefix.destination, []).extend(row[1] for row in frame.rows)
        return found


@given(
    words=st.lists(st.sampled_from("abcdefghij"), max_size=60),
    par=st.integers(1, 4),
    count=st.integers(1, 5),
)
def test_a_key_follows_its_group_and_keeps_its_order(words: list[str], par: int, count: int) -> None:
    scaling = Scaling(edge("fields", "word"), par=par, batch_tuples=100)
    for number, word in enumerate(words):
        scaling.emit(word, number)
    plan = scaling.scale(count)
    owners = plan.key_groups["count"]
    expected: dict[int, list[int]] = {}
    for number, word in enumerate(words):
        expected.setdefault(owners[key_group(word, len(owners))], []).append(number)
    found = scaling.arrived()
    assert {task: sorted(numbers) for task, numbers in found.items()} == expected
    for word in set(words):
        mine = [number for numbers in found.values() for number in numbers if words[number] == word]
        assert mine == sorted(mine)


@given(
    words=st.lists(st.sampled_from("abcdefghij"), min_size=1, max_size=60),
    kind=st.sampled_from(["fields", "all", "shuffle", "global"]),
    par=st.integers(1, 4),
    count=st.integers(1, 5),
)
def test_a_batch_that_is_divided_anew_owes_its_tree_as_before(
    words: list[str], kind: Any, par: int, count: int
) -> None:
    """Also what is dropped, because its task is gone and the others have their copies."""
    scaling = Scaling(edge(kind, *(["word"] if kind == "fields" else [])), par=par, batch_tuples=100)
    rows = [[word, number] for number, word in enumerate(words)]
    planted: list[tuple[int, int]] = []

    def edges_of(copies: int) -> Sequence[Edges]:
        planted.extend((7, edge) for edge in random_edges(copies))
        return planted

    scaling.collector.emit_many(rows, "default", edges_of)
    scaling.scale(count)
    arrived = [tree[7] for frame in scaling.link.frames for tree in frame.trees]
    dropped = [edge for edges in scaling.settled for _, edge in pairs(edges)]
    assert xor_of([*arrived, *dropped]) == xor_of(edge for _, edge in planted)
    assert len(arrived) >= len(rows)


@pytest.mark.parametrize("kind", ["shuffle", "none", "local_or_shuffle"])
def test_what_was_for_a_task_that_stays_stays_and_the_rest_is_dealt(kind: str) -> None:
    scaling = Scaling(edge(kind), par=3, batch_tuples=100)
    before: dict[int, list[int]] = {}
    for number in range(30):
        scaling.emit("w", number)
    for lane in scaling.outbox.unsent():
        before[lane.channel.task] = [row[1] for row in lane.rows]
    scaling.scale(2)
    found = scaling.arrived()
    assert sorted(number for numbers in found.values() for number in numbers) == list(range(30))
    for task in found:
        assert [number for number in found[task] if number in before.get(task, ())] == before.get(task, [])
    assert set(found) <= {2, 3}


def test_with_all_each_task_has_its_own_copy_and_that_of_a_task_that_is_gone_is_settled() -> None:
    scaling = Scaling(edge("all"), par=3, batch_tuples=100)
    scaling.collector.emit(["w", 1], "default", None, False, lambda copies: [(7, n) for n in range(copies)])
    scaling.scale(2)
    assert scaling.settled == [(7, 2)]
    frames = [
        frame.prefix.destination for frame in scaling.link.frames if frame.prefix.kind not in (3, SIGNAL)
    ]
    assert frames == [2, 3]


def test_a_task_that_is_new_gets_no_copy_of_what_was_emitted_before_it_was_there() -> None:
    scaling = Scaling(edge("all"), par=1)
    scaling.emit("w", 1)
    scaling.scale(2)
    scaling.emit("w", 2)
    scaling.outbox.flush()
    assert scaling.arrived() == {2: [1, 2], 21: [2]}


def test_the_lowest_task_gets_everything() -> None:
    scaling = Scaling(edge("global"), par=3)
    scaling.emit("w", 1)
    scaling.scale(1)
    assert scaling.arrived() == {2: [1]}


def test_a_grouping_of_ones_own_is_prepared_again_and_asked() -> None:
    scaling = Scaling(edge("custom"), par=2)
    for number in range(4):
        scaling.emit("w", number)
    scaling.scale(3)
    assert scaling.arrived() == {2: [0, 3], 3: [1], 22: [2]}


def test_a_named_task_that_is_gone_is_replaced_by_its_number() -> None:
    scaling = Scaling(edge("direct"), par=3)
    for task in (2, 3, 4):
        scaling.collector.emit(["w", task], "default", task, False)
    scaling.scale(2)
    assert scaling.arrived() == {2: [2, 4], 3: [3]}


def test_values_that_are_encoded_already_are_opened_to_find_their_task() -> None:
    scaling = Scaling(edge("fields", "word"), par=2)
    keys = [("a", "b"), ("c", "d"), ("e", "f"), ("g", "h")]
    for number, key in enumerate(keys):
        scaling.emit(key, number)
    plan = scaling.scale(4)
    owners = plan.key_groups["count"]
    assert scaling.arrived() == {
        task: [n for n, key in enumerate(keys) if owners[key_group(key, len(owners))] == task]
        for task in {owners[key_group(key, len(owners))] for key in keys}
    }


def test_an_emit_that_waits_while_the_plan_changes_goes_on_with_the_new_one() -> None:
    scaling = Scaling(edge("all"), par=2, batch_tuples=1)
    scaling.outbox._pauses = False  # as a bolt, which waits inside emit()
    changes: list[Callable[[], Any]] = [lambda: scaling.scale(1)]

    def meanwhile() -> None:
        if changes:
            changes.pop()()

    scaling.outbox.meanwhile = meanwhile
    scaling.emit("w", 1)  # waits for the first task, then goes on with the second, which is gone
    scaling.emit("w", 2)
    assert scaling.arrived() == {2: [1, 2]}
    assert not scaling.outbox.waiting


def test_rows_of_a_snapshot_leave_first_for_whoever_owns_them_now() -> None:
    emitter = Emitter(edge("fields", "word"), par=3, batch_tuples=100)
    for task in (2, 3, 4):
        emitter.outbox.hold([task])
    saved = RowBatch([("a", 0), ("b", 1)], [])
    emitter.collector.put_back(emitter.plan, "default", "count", 99, lambda _: saved)
    emitter.collector.put_back(emitter.plan, "default", "nobody", 99, lambda _: saved)
    emitter.emit("a", 2)
    emitter.outbox.release()
    emitter.outbox.flush()
    assert sorted(emitter.link.values) == [["a", 0], ["a", 2], ["b", 1]]
    assert [row[1] for row in emitter.link.values if row[0] == "a"] == [0, 2]


def test_a_held_channel_takes_nothing_and_drops_nothing_even_where_full_batches_are_dropped() -> None:
    scaling = Scaling(edge("shuffle"), par=1, batch_tuples=2, drop=True)
    for number in range(3):
        scaling.emit("w", number)
    scaling.outbox.forget()
    scaling.outbox.flush()
    assert scaling.arrived() == {2: [0, 1, 2]}
    assert scaling.counters.dropped == {}


def test_a_marker_is_said_again_while_its_channel_is_held() -> None:
    scaling = Scaling(edge("shuffle"), par=1)
    scaling.now += 5
    scaling.outbox.probe()
    markers = [frame for frame in scaling.link.frames if frame.signal is not None]
    assert [(marker.signal, marker.prefix.position) for marker in markers] == [
        (Marker(scaling.plan.epoch + 1), 0)
    ] * 2


def test_how_long_tuples_were_held_is_measured() -> None:
    scaling = Scaling(edge("shuffle"), par=1)
    scaling.now += 0.25
    scaling.scale(2)
    assert scaling.outbox.held_seconds == 0.25


def test_a_component_that_holds_on_to_emit_emits_by_the_new_plan() -> None:
    scaling = Scaling(edge("fields", "word"), par=1)
    emit = fast_lane(scaling.collector)
    scaling.scale(3)
    for number in range(40):
        assert emit([str(number), number], "default")
    scaling.outbox.flush()
    assert len(scaling.arrived()) == 3


def test_the_end_of_input_stays_behind_rows_that_a_change_of_plan_moves() -> None:
    scaling = Scaling(edge("fields", "word"), par=3, batch_tuples=100)
    (leaving,) = {task.id for task in scaling.plan.tasks_of("count")} - {
        task.id for task in scaled(scaling.plan, 2).tasks_of("count")
    }
    groups = scaling.plan.key_groups["count"]
    word = next(
        str(number) for number in range(1000) if groups[key_group(str(number), len(groups))] == leaving
    )
    scaling.emit(word, 1)
    scaling.outbox.following.follow(EndOfInput())
    plan = scaling.scale(2)
    heir = plan.key_groups["count"][key_group(word, len(groups))]
    came = [frame for frame in scaling.link.frames if frame.prefix.destination == heir]
    ends = [number for number, frame in enumerate(came) if frame.signal == EndOfInput()]
    (row,) = [number for number, frame in enumerate(came) if frame.rows]
    assert ends
    assert min(ends) > row
    assert all(came[end].prefix.position == 1 for end in ends)


@given(
    kind=st.sampled_from(["fields", "shuffle", "all", "global", "custom"]),
    words=st.lists(st.sampled_from("abcdefghij"), min_size=1, max_size=60),
    par=st.integers(1, 4),
    count=st.integers(1, 5),
)
def test_a_batch_that_waits_for_credit_while_the_plan_changes_goes_on_by_the_new_one(
    kind: str, words: list[str], par: int, count: int
) -> None:
    scaling = Scaling(edge(kind, *(["word"] if kind == "fields" else [])), par=par, batch_tuples=3)
    before = {task.id for task in scaling.plan.tasks_of("count")}
    plans: list[PhysicalPlan] = []
    scaling.link.on_pump = lambda: plans.append(scaling.scale(count))
    scaling.collector.emit_many([(word, number) for number, word in enumerate(words)], "default")
    plan = plans[0] if plans else scaling.scale(count)
    scaling.outbox.flush()
    assert len(plans) < 2
    assert not scaling.outbox.waiting
    found = scaling.arrived()
    after = {task.id for task in plan.tasks_of("count")}
    if kind == "all":  # no copy for a task that is new, and none for one that is gone
        assert found == {task: list(range(len(words))) for task in before & after}
        return
    assert sorted(number for numbers in found.values() for number in numbers) == list(range(len(words)))
    assert set(found) <= after
    if kind == "fields":
        owners = plan.key_groups["count"]
        for task, numbers in found.items():
            for word in {words[number] for number in numbers}:
                assert owners[key_group(word, len(owners))] == task
                mine = [number for number in numbers if words[number] == word]
                assert mine == sorted(mine)
