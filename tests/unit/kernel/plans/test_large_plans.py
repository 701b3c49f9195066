"""Ten thousand tasks: the plan fits a node, its tasks are looked up, and no work grows with their square."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tasks.plans import edge, plan_of
from typing_extensions import override

from heronpy import Bolt, Spout
from heronpy.instances.flow_settings import FlowSettings
from heronpy.instances.task.build import Task, build_task
from heronpy.kernel import formats
from heronpy.kernel.master.knowledge.roster import Roster
from heronpy.kernel.master.knowledge.tuple_losses import TupleLosses
from heronpy.kernel.master.updating.decide import Situation
from heronpy.kernel.plans import PackingPlan, PhysicalPlan, PlacedTask, next_plan, physical_plan
from heronpy.kernel.plans.packing import LAST_TRACKED_TASK
from heronpy.kernel.tree.update import Update
from heronpy.plugins.packing.hooks import heron_resource_managers
from heronpy.testing.packing import initialized

HALF = 5_000
NODE_BYTES = 512 * 1024


class Counted(tuple[PlacedTask, ...]):
    """The tasks of a plan, which count how often they are read from the beginning."""

    scans = 0

    @override
    def __iter__(self) -> Iterator[PlacedTask]:
        self.scans += 1
        return super().__iter__()


class Words(Spout):
    outputs = ["word"]


class Count(Bolt):
    pass


class NoLink:
    """Frames go nowhere."""

    stopping = False

    def send(self, prefix: bytes, payload: bytes) -> None:
        pass

    def pump(self, seconds: float) -> None:
        pass


@cache
def large(algorithm: str = "round_robin") -> tuple[PackingPlan, PackingPlan, PhysicalPlan]:
    """The packing of 5,000 spouts and 5,000 bolts that read by key, one with 100 bolts more, and the plan."""
    logical = plan_of(edge("fields", "word")).logical
    components = tuple(msgspec.structs.replace(each, parallelism=HALF) for each in logical.components)
    config = {"topology.stmgrs": 200}
    logical = msgspec.structs.replace(logical, components=components, key_groups=4 * HALF, config=config)
    manager = initialized(heron_resource_managers()[algorithm], logical.config, logical.parallelism())
    packing = manager.pack()
    return packing, manager.repack(packing, {"count": 100}), physical_plan(logical, packing)


def built(plan: PhysicalPlan, component: str) -> Task:
    """The first task of a component."""
    classes = {
        plan.logical.component("words").class_path: Words,
        plan.logical.component("count").class_path: Count,
    }
    return build_task(plan, plan.tasks_of(component)[0].id, 1, NoLink(), FlowSettings(), classes.__getitem__)


@pytest.mark.parametrize("algorithm", sorted(heron_resource_managers()))
def test_plans_of_ten_thousand_tasks_fit_half_a_node_and_come_back(algorithm: str) -> None:
    packing, grown, plan = large(algorithm)
    following = next_plan(plan, grown, 2)
    update = Update(
        number=1, epoch=2, phase="release", packing=grown, members=dict.fromkeys(range(10_100), 7)
    )
    for value in (packing, grown, plan, following, update):
        stored = value.to_json()
        assert len(stored) < NODE_BYTES
        assert type(value).from_json(stored) == value


@given(st.integers(1, 12), st.integers(1, 5), st.integers(1, 6), st.booleans())
def test_the_compressed_form_equals_the_plain_one(par: int, spouts: int, containers: int, long: bool) -> None:
    plan = plan_of(edge("fields", "word"), par=par, spouts=spouts, containers=containers)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(formats, "LONG", 0 if long else formats.LONGEST)
        stored = plan.to_json()
    assert (b'"deflated"' in stored) is long
    assert PhysicalPlan.from_json(stored) == plan


def test_what_is_asked_of_a_plan_is_looked_up() -> None:
    plan = large()[-1]
    tasks = Counted(plan.tasks)
    plan = msgspec.structs.replace(plan, tasks=tasks)
    assert all(plan.task(task.id) is task and plan.has(task.id) for task in large()[-1].tasks)
    assert not plan.has(0)
    assert [task.index for task in plan.tasks_of("count")] == list(range(HALF))
    assert plan.tasks_of("nothing") == []
    assert (plan.emitters_of("count"), plan.emitters_of("words")) == (HALF, 0)
    # one for the index by id, one for that by component
    assert tasks.scans == 2
    assert plan == large()[-1]


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 4))
def test_look_ups_find_what_a_search_finds(par: int, spouts: int, containers: int) -> None:
    plan = plan_of(
        edge("fields", "word"), edge("all", stream="alarm"), par=par, spouts=spouts, containers=containers
    )
    for task in plan.tasks:
        assert plan.task(task.id) is task
        assert plan.tasks_of(task.component) == [
            each for each in plan.tasks if each.component == task.component
        ]
        assert plan.emitters_of(task.component) == len(plan.upstream_of(task.component))


@pytest.mark.parametrize("component", ["words", "count"])
def test_a_task_is_built_with_few_readings_of_the_plan(component: str) -> None:
    tasks = Counted(large()[-1].tasks)
    plan = msgspec.structs.replace(large()[-1], tasks=tasks)
    receivers = built(plan, component).parts.outbox._channels
    assert len(receivers) == (HALF if component == "words" else 0)
    assert tasks.scans <= 5


def test_the_master_knows_the_readers_of_all_tasks_by_one_set_for_each_component() -> None:
    plan = large()[-1]
    below = TupleLosses(plan)._below
    assert len(below) == 2 * HALF
    assert len({id(readers) for readers in below.values()}) == 2
    assert below[plan.tasks_of("words")[0].id] == {task.id for task in plan.tasks_of("count")}


def test_an_update_reads_the_plans_as_often_for_many_tasks_as_for_few() -> None:
    packing, grown, plan = large()
    before, after = Counted(plan.tasks), Counted(next_plan(plan, grown, 2).tasks)
    coming = msgspec.structs.replace(plan, tasks=after, epoch=2)
    update = Update(number=1, epoch=2, phase="prepare", packing=grown)
    here = Situation(update, msgspec.structs.replace(plan, tasks=before), coming, packing, Roster())
    new = [task.id for task in here.tasks if task.id in here.newcomers]
    assert new == list(range(2 * HALF + 1, 2 * HALF + 101))
    assert here.containers == sorted({task.container for task in here.tasks})
    assert [len(here.by_container[each]) for each in here.containers] == [
        len(container.instances) for container in grown.containers
    ]
    assert (before.scans, after.scans) == (2, 1)


def test_tasks_beyond_the_last_tracked_one_are_routed_like_others() -> None:
    manager = initialized(heron_resource_managers()["round_robin"], {}, {"words": 1, "count": 2})
    packing = msgspec.structs.replace(manager.pack(), next_task=LAST_TRACKED_TASK + 1)
    logical = plan_of(edge("fields", "word")).logical
    plan = physical_plan(logical, manager.repack(packing, {"count": 2}))
    count = [task.id for task in plan.tasks_of("count")]
    assert count[2:] == [LAST_TRACKED_TASK + 1, LAST_TRACKED_TASK + 2]
    assert sorted(set(plan.key_groups["count"])) == count
    assert sorted(built(plan, "words").parts.outbox._channels) == count
