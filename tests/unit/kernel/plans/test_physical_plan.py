"""The physical plan: even, contiguous key groups, and the same plan after a trip through JSON."""

from __future__ import annotations

import re
from collections import Counter
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tasks.plans import edge, plan_of

from heronpy.kernel.plans import (
    ContainerPlan,
    InstancePlan,
    LogicalPlan,
    PackingPlan,
    PhysicalPlan,
    PlacedTask,
    Resources,
    physical_plan,
)
from heronpy.kernel.plans.group_owners import contiguous


@given(st.integers(1, 300), st.integers(0, 700))
def test_key_groups_lie_in_even_contiguous_ranges(owners: int, more: int) -> None:
    groups = owners + more
    ids = [10 * number for number in range(owners)]
    table = contiguous(ids, groups)
    assert len(table) == groups
    assert [owner for owner, _ in groupby(table)] == ids
    counts = Counter(table).values()
    assert max(counts) - min(counts) <= 1


def test_a_plan_knows_its_tasks_streams_and_neighbours() -> None:
    plan = plan_of(edge("fields", "word"), edge("all", stream="alarm"), spouts=2, par=3)
    assert plan.tasks == (
        PlacedTask(1, "words", 0, 1),
        PlacedTask(2, "words", 1, 2),
        PlacedTask(3, "count", 0, 1),
        PlacedTask(4, "count", 1, 2),
        PlacedTask(5, "count", 2, 1),
    )
    assert plan.streams == (("words", "default"), ("words", "alarm"))
    assert [task.id for task in plan.upstream_of("count")] == [1, 2]
    assert plan.upstream_of("words") == []
    assert [task.label for task in plan.tasks_of("count")] == ["count[0]", "count[1]", "count[2]"]
    assert plan.containers() == [1, 2]


@pytest.mark.parametrize("kind", ["shuffle", "all", "global", "none", "direct", "local_or_shuffle"])
def test_only_components_that_are_read_by_fields_have_key_groups(kind: str) -> None:
    assert plan_of(edge(kind)).key_groups == {}
    assert set(plan_of(edge("fields", "word"), edge(kind, stream="other")).key_groups) == {"count"}


def test_a_task_has_a_process_of_its_own_unless_the_packing_says_otherwise() -> None:
    plan = plan_of(edge("shuffle"), par=3, containers=1)
    assert [task.slot for task in plan.tasks] == [1, 2, 3, 4]
    shared = tuple(InstancePlan(task, "count", task - 2, slot=2) for task in (2, 3))
    instances = (InstancePlan(1, "words", 0), *shared, InstancePlan(4, "count", 2))
    packing = PackingPlan("wordcount", "test", (ContainerPlan(1, instances, Resources()),), 5)
    together = physical_plan(plan.logical, PackingPlan.from_json(packing.to_json()))
    assert [task.slot for task in PhysicalPlan.from_json(together.to_json()).tasks] == [1, 2, 2, 4]


def test_in_plans_from_before_there_were_slots_each_task_has_a_process_of_its_own() -> None:
    plan = plan_of(edge("shuffle"), par=2)
    packing = PackingPlan("w", "test", (ContainerPlan(1, (InstancePlan(7, "count", 0),), Resources()),), 8)
    for written in (plan, packing):
        earlier = re.sub(rb',"slot":\d+', b"", written.to_json())
        assert b"slot" not in earlier
        assert type(written).from_json(earlier) == written


@given(st.integers(1, 20), st.integers(1, 5), st.integers(1, 6))
def test_plans_come_back_from_json(par: int, spouts: int, containers: int) -> None:
    plan = plan_of(edge("fields", "word"), par=par, spouts=spouts, containers=containers)
    assert PhysicalPlan.from_json(plan.to_json()) == plan
    assert LogicalPlan.from_json(plan.logical.to_json()) == plan.logical
    packing = PackingPlan("wordcount", "test", (), 7, epoch=3)
    assert PackingPlan.from_json(packing.to_json()) == packing
