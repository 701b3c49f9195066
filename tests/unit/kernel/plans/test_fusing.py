"""Which tasks share a process: none, or those of a container through every repack."""

from __future__ import annotations

import pytest

from heronpy.kernel.config import load_config
from heronpy.kernel.errors import UserError
from heronpy.kernel.plans import (
    Component,
    LogicalPlan,
    PackingPlan,
    fused,
    is_fused,
    next_plan,
    physical_plan,
)
from heronpy.plugins.packing.round_robin import RoundRobin


def topology(fuse: object, containers: int = 2) -> LogicalPlan:
    config = {"topology.fuse": fuse, "topology.stmgrs": containers}
    words = Component("words", "spout", "m.Words", 2)
    return LogicalPlan("t", (words, Component("count", "bolt", "m.Count", 4)), config)


def manager(plan: LogicalPlan) -> RoundRobin:
    made = RoundRobin()
    made.initialize(load_config("/dev/null", environ={}), plan)
    return made


def slots(packing: PackingPlan) -> dict[int, set[int]]:
    """Of the tasks of each container."""
    return {each.id: {task.slot for task in each.instances} for each in packing.containers}


def test_every_task_has_a_process_of_its_own_unless_said() -> None:
    for plan in (topology("none"), LogicalPlan("t", topology("none").components)):
        packing = manager(plan).pack()
        assert fused(plan, packing) == packing
        assert sorted(task.slot for task in packing.instances()) == [1, 2, 3, 4, 5, 6]


def test_the_tasks_of_a_container_share_one_and_keep_it_when_others_come_and_go() -> None:
    plan = topology("container")
    packing = fused(plan, manager(plan).pack())
    assert slots(packing) == {1: {1}, 2: {2}}
    routing = physical_plan(plan, packing)
    for epoch, changes in enumerate(({"count": 3}, {"count": -5}, {"words": 1, "count": 2}), 2):
        before = {task.task: task.slot for task in packing.instances()}
        packing = fused(plan, manager(plan).repack(packing, changes))
        assert all(len(of_one) == 1 for of_one in slots(packing).values())
        kept = {task.task: task.slot for task in packing.instances() if task.task in before}
        assert kept.items() <= before.items()
        routing = next_plan(routing, packing, epoch)  # refuses a task that is moved


def test_another_word_is_refused_in_one_line() -> None:
    with pytest.raises(UserError) as refused:
        is_fused(topology("containers"))
    assert str(refused.value) == (
        "topology.fuse must be \"none\" or \"container\", got 'containers'; did you mean 'container'?"
    )
