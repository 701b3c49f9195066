"""What another plan does not hand on, by what the tasks say that they keep."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heronpy.kernel.plans import (
    Component,
    ContainerPlan,
    DeclaredGrouping,
    Input,
    InstancePlan,
    LogicalPlan,
    PackingPlan,
    PhysicalPlan,
    Resources,
    next_plan,
    physical_plan,
)
from heronpy.kernel.plans.logical import GroupingKind
from heronpy.kernel.protocol import Held as HeldMessage
from heronpy.kernel.state_transfer import KeptState as Kept
from heronpy.kernel.state_transfer import held_of, objections

KINDS: tuple[GroupingKind, ...] = (
    "shuffle", "fields", "all", "global", "none", "direct", "custom", "local_or_shuffle",
)  # fmt: skip
#: tasks that share what comes, so that one more or less changes nothing for the others
ANY_TASK_WILL_DO = ("shuffle", "none", "local_or_shuffle", "global")


def packing(count: int, epoch: int) -> PackingPlan:
    """Task 1 is the spout; those of the bolt b begin at 2."""
    tasks = (InstancePlan(1, "words", 0), *(InstancePlan(2 + each, "b", each) for each in range(count)))
    return PackingPlan("t", "test", (ContainerPlan(1, tasks, Resources()),), next_task=2 + count, epoch=epoch)


def plans(kind: GroupingKind, before: int, after: int) -> tuple[PhysicalPlan, PhysicalPlan]:
    grouping = DeclaredGrouping(kind, ("word",) if kind == "fields" else ())
    logical = LogicalPlan(
        "t",
        (
            Component("words", "spout", "m.Words", 1),
            Component("b", "bolt", "m.B", before, (Input("words", "default", grouping),)),
        ),
        key_groups=16,
    )
    first = physical_plan(logical, packing(before, 1))
    return first, next_plan(first, packing(after, 2), 2)


@pytest.mark.parametrize(
    ("kind", "before", "after", "held", "objection"),
    [
        ("shuffle", 2, 1, Kept(own=1), "state of b[1] (1 entry) belongs to no key and ends with its task"),
        ("shuffle", 3, 1, Kept(own=1200), "state of b[1] (1,200 entries), b[2] (1,200 entries) belongs to"),
        ("shuffle", 1, 2, Kept(own=9), ""),
        ("all", 1, 2, Kept(own=9), "state of b[0] (9 entries) comes from tuples that all tasks get, and new"),
        ("custom", 1, 2, Kept(own=9), "state of b[0] (9 entries) stays where it is, and a custom grouping"),
        ("direct", 1, 2, Kept(own=9), "state of b[0] (9 entries) stays where it is, and a direct grouping"),
        ("fields", 1, 2, Kept(own=9), "state of b[0] (9 entries) is kept by task and does not move with its"),
        ("fields", 2, 1, Kept(keyed=9, used=True), ""),
        ("fields", 2, 1, Kept(attributes=("b", "a")), "bolt 'b' does not use self.state: its plain"),
        ("fields", 2, 1, Kept(used=True), ""),
        ("fields", 2, 1, Kept(), ""),
        ("shuffle", 2, 1, Kept(attributes=("limit",)), ""),
        ("shuffle", 2, 1, Kept(attributes=("state",)), "what b[1] assigned to self.state is not the"),
        ("shuffle", 1, 2, Kept(attributes=("state",)), ""),
        ("shuffle", 9, 1, Kept(own=1), "state of b[1] (1 entry), b[2] (1 entry), b[3] (1 entry), b[4] ("),
    ],
)  # fmt: skip
def test_each_reason(kind: GroupingKind, before: int, after: int, held: Kept, objection: str) -> None:
    first, second = plans(kind, before, after)
    found = objections(first, second, {task.id: held for task in first.tasks_of("b")})
    assert len(found) == bool(objection)
    assert "".join(found).startswith(objection)


def test_where_only_the_lowest_task_has_something_the_others_may_go() -> None:
    first, second = plans("global", 3, 1)
    assert objections(first, second, {2: Kept(own=5, used=True)}) == []
    assert objections(first, second, {3: Kept(own=5, used=True)}) != []


@given(
    kind=st.sampled_from(KINDS),
    before=st.integers(1, 5),
    after=st.integers(1, 5),
    own=st.lists(st.integers(0, 3), min_size=5, max_size=5),
    keyed=st.integers(0, 3),
)
def test_state_of_a_task_that_ends_is_never_passed_over(
    kind: GroupingKind, before: int, after: int, own: list[int], keyed: int
) -> None:
    first, second = plans(kind, before, after)
    held = {2 + each: Kept(keyed=keyed, own=own[each], used=True) for each in range(before)}
    found = " ".join(objections(first, second, held))
    ending = [each for each in range(after, before) if own[each]]
    for each in ending:
        assert f"b[{each}] (" in found
    if before == after or not any(own[:before]) or (not ending and kind in ANY_TASK_WILL_DO):
        assert found == ""
    if kind == "fields" and before != after and any(own[:before]):
        assert found != ""


def test_a_beat_tells_it() -> None:
    told = HeldMessage(keyed=1, own=2, used=True, attributes=["a"])
    assert held_of(HeldMessage.FromString(told.SerializeToString())) == Kept(1, 2, True, ("a",))
