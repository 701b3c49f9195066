"""From one routing table to the next: even shares, the fewest moves, and nobody touched who is not asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heronpy.kernel.errors import PackingError
from heronpy.kernel.plans import (
    Component,
    DeclaredGrouping,
    DeclaredStream,
    Input,
    LogicalPlan,
    PackingPlan,
    PhysicalPlan,
    affected,
    moves,
    next_plan,
    physical_plan,
    union,
)
from heronpy.kernel.plans.group_owners import rebalanced
from heronpy.kernel.plugin import ResourceManager
from heronpy.plugins.packing.hooks import heron_resource_managers
from heronpy.testing.packing import initialized

CALM = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
KINDS = sorted(heron_resource_managers())
SPLITS = tuple(f"part-{number}" for number in range(10))


def shop(parallelism: Mapping[str, int]) -> LogicalPlan:
    """orders (ten splits) → spent (by customer) → total, and → log (shuffle); declared in another order."""
    word = (DeclaredStream("default", ("customer",)),)

    def reads(component: str, kind: str, *fields: str) -> tuple[Input, ...]:
        return (Input(component, "default", DeclaredGrouping(kind, fields)),)  # type: ignore[arg-type]

    return LogicalPlan(
        "shop",
        (
            Component("total", "bolt", "m.Total", parallelism["total"], reads("spent", "fields", "customer")),
            Component(
                "spent", "bolt", "m.Spent", parallelism["spent"], reads("orders", "fields", "customer"), word
            ),
            Component("log", "bolt", "m.Log", parallelism["log"], reads("orders", "shuffle")),
            Component("orders", "spout", "m.Orders", parallelism["orders"], (), word, splits=SPLITS),
        ),
        {"topology.stmgrs": 2},
        key_groups=64,
    )


def packed(parallelism: Mapping[str, int], kind: str = "round_robin") -> tuple[ResourceManager, PackingPlan]:
    logical = shop(parallelism)
    manager = initialized(heron_resource_managers()[kind], logical.config, logical.parallelism())
    return manager, manager.pack()


START = {"total": 1, "spent": 2, "log": 2, "orders": 2}


def test_two_become_four_and_half_of_the_groups_move() -> None:
    manager, packing = packed(START)
    plan = physical_plan(shop(START), packing)
    after = next_plan(plan, manager.repack(packing, {"spent": 2}), epoch=9)
    assert (after.epoch, after.logical.epoch, after.logical.component("spent").parallelism) == (9, 9, 4)
    assert affected(plan, after) == ["spent"]
    moved = moves(plan, after)
    assert list(moved) == ["spent"]
    assert len(moved["spent"]) == 32
    old, new = ({task.id for task in each.tasks_of("spent")} for each in (plan, after))
    assert {giver for giver, _ in moved["spent"].values()} == old
    assert {taker for _, taker in moved["spent"].values()} == new - old
    assert Counter(after.key_groups["spent"]) == dict.fromkeys(new, 16)
    assert after.streams == plan.streams
    assert after.key_groups["total"] == plan.key_groups["total"]


def test_splits_of_a_spout_are_contiguous_at_submit_and_move_like_groups() -> None:
    manager, packing = packed(START)
    plan = physical_plan(shop(START), packing)
    first, second = (task.id for task in plan.tasks_of("orders"))
    assert plan.key_groups["orders"] == (first,) * 5 + (second,) * 5
    after = next_plan(plan, manager.repack(packing, {"orders": 1}), epoch=2)
    third = max(task.id for task in after.tasks_of("orders"))
    assert after.key_groups["orders"] == (first,) * 4 + (third,) + (second,) * 3 + (third,) * 2
    assert moves(plan, after) == {"orders": {4: (first, third), 8: (second, third), 9: (second, third)}}


def test_components_come_upstream_first_whatever_the_order_in_the_file() -> None:
    manager, packing = packed(START)
    plan = physical_plan(shop(START), packing)
    assert plan.logical.upstream_first() == ["orders", "spent", "total", "log"]
    after = next_plan(plan, manager.repack(packing, {"total": 1, "orders": 1, "log": -1}), epoch=2)
    assert affected(plan, after) == ["orders", "total", "log"]
    assert set(moves(plan, after)) == {"orders", "total"}


def test_a_restart_is_the_same_plan_with_another_epoch() -> None:
    _, packing = packed(START)
    plan = physical_plan(shop(START), packing)
    after = next_plan(plan, packing, epoch=5)
    assert affected(plan, after) == []
    assert moves(plan, after) == {}
    assert (after.tasks, after.key_groups) == (plan.tasks, plan.key_groups)
    assert after.epoch == 5


parallelisms = st.fixed_dictionaries({name: st.integers(1, 10) for name in START})


@CALM
@given(parallelisms, st.lists(parallelisms, min_size=1, max_size=4), st.sampled_from(KINDS))
def test_any_chain_of_changes(start: dict[str, int], steps: list[dict[str, int]], kind: str) -> None:
    manager, packing = packed(start, kind)
    plan = physical_plan(shop(start), packing)
    seen = {task.id for task in plan.tasks}
    for epoch, wanted in enumerate(steps, 2):
        counts = packing.counts()
        packing = manager.repack(packing, {name: wanted[name] - counts[name] for name in wanted})
        after = next_plan(plan, packing, epoch)
        assert_even_and_frugal(plan, after)
        assert after.logical.parallelism() == wanted
        for name in START:
            assert min(task.id for task in after.tasks_of(name)) == min(t.id for t in plan.tasks_of(name))
            if wanted[name] == counts[name]:
                assert after.key_groups.get(name) == plan.key_groups.get(name)
                assert name not in affected(plan, after)
            else:
                assert name in affected(plan, after)
        new = {task.id for task in after.tasks} - {task.id for task in plan.tasks}
        assert not new & seen
        seen |= new
        plan = after
        assert PhysicalPlan.from_json(plan.to_json()) == plan


def assert_even_and_frugal(before: PhysicalPlan, after: PhysicalPlan) -> None:
    for name, table in after.key_groups.items():
        owners = [task.id for task in after.tasks_of(name)]
        sizes = [table.count(owner) for owner in owners]
        assert sum(sizes) == len(table)
        assert max(sizes) - min(sizes) <= 1
        assert len(moves(before, after).get(name, {})) == fewest_moves(before.key_groups[name], owners)


def fewest_moves(table: tuple[int, ...], owners: list[int]) -> int:
    """Everybody may keep the even share, and as many of them one more as there are groups left over."""
    least, over = divmod(len(table), len(owners))
    kept = sum(min(table.count(owner), least) for owner in owners)
    return len(table) - kept - min(over, sum(table.count(owner) > least for owner in owners))


@given(st.lists(st.integers(1, 9), min_size=1, max_size=60), st.sets(st.integers(1, 12), min_size=1))
def test_any_table_becomes_even_with_the_fewest_moves(table: list[int], owners: set[int]) -> None:
    after = rebalanced(tuple(table), sorted(owners))
    sizes = [after.count(owner) for owner in owners]
    assert sum(sizes) == len(table)
    assert max(sizes) - min(sizes) <= 1
    moved = sum(old != new for old, new in zip(table, after, strict=True))
    assert moved == fewest_moves(tuple(table), sorted(owners))


def test_what_a_plugin_asks_for_is_what_it_gets() -> None:
    manager, packing = packed(START)
    plan = physical_plan(shop(START), packing)
    first, second = (task.id for task in plan.tasks_of("spent"))
    wanted = (first,) * 10 + (second,) * 54
    after = next_plan(plan, msgspec.structs.replace(packing, key_groups={"spent": wanted}), epoch=2)
    assert after.key_groups["spent"] == wanted
    assert affected(plan, after) == ["spent"]
    assert moves(plan, after) == {"spent": dict.fromkeys(range(10, 32), (first, second))}
    # what is in force already is no wish: with other tasks, shares are even again
    carried = msgspec.structs.replace(manager.repack(packing, {"spent": 1}), key_groups={"spent": wanted})
    assert sorted(Counter(next_plan(after, carried, epoch=3).key_groups["spent"]).values()) == [21, 21, 22]


def test_a_plugin_may_also_say_who_owns_what_at_submit() -> None:
    _, packing = packed(START)
    owners = [instance.task for instance in packing.instances() if instance.component == "spent"]
    wanted = tuple(owners[group % 2] for group in range(64))
    plan = physical_plan(shop(START), msgspec.structs.replace(packing, key_groups={"spent": wanted}))
    assert plan.key_groups["spent"] == wanted


@pytest.mark.parametrize(
    ("component", "table", "message"),
    [
        ("spent", (0,) * 64, r"gives key group 0 of 'spent' to task 0, which is none of its tasks \d+, \d+"),
        ("spent", (0,) * 63, "names owners of 63 key groups of 'spent', but there are 64"),
        ("log", (0,) * 64, "key_groups for 'log', which has no key groups"),
    ],
)
def test_a_table_nobody_could_route_by_is_refused(
    component: str, table: tuple[int, ...], message: str
) -> None:
    _, packing = packed(START)
    plan = physical_plan(shop(START), packing)
    asking = msgspec.structs.replace(packing, key_groups={component: table})
    with pytest.raises(PackingError, match=message) as caught:
        next_plan(plan, asking, 2)
    assert "\n" not in str(caught.value)
    with pytest.raises(PackingError, match=message):
        physical_plan(shop(START), asking)


def test_a_running_task_cannot_become_another() -> None:
    _, packing = packed(START)
    plan = physical_plan(shop(START), packing)
    first, second = packing.containers
    swapped = (
        msgspec.structs.replace(first, instances=second.instances),
        msgspec.structs.replace(second, instances=first.instances),
    )
    with pytest.raises(PackingError, match="an instance that stays must keep its place"):
        next_plan(plan, msgspec.structs.replace(packing, containers=swapped), 2)
    moved = tuple(msgspec.structs.replace(each, slot=1) for each in first.instances)
    elsewhere = (msgspec.structs.replace(first, instances=moved), second)
    with pytest.raises(PackingError, match=r"in container 1\) into .* in container 1, process 1: "):
        next_plan(plan, msgspec.structs.replace(packing, containers=elsewhere), 2)
    only = msgspec.structs.replace(packing, containers=(first,))
    lonely = [instance for instance in first.instances if instance.component != "log"]
    gone = msgspec.structs.replace(
        only, containers=(msgspec.structs.replace(first, instances=tuple(lonely)),)
    )
    with pytest.raises(PackingError, match="leaves no instance of 'log'"):
        next_plan(plan, gone, 2)


@CALM
@given(parallelisms, parallelisms, st.sampled_from(KINDS))
def test_the_union_of_two_plans_has_everybody_once(
    start: dict[str, int], wanted: dict[str, int], kind: str
) -> None:
    manager, packing = packed(start, kind)
    proposed = manager.repack(packing, {name: wanted[name] - start[name] for name in start})
    both = union(packing, proposed)
    tasks = [instance.task for instance in both.instances()]
    assert sorted(set(tasks)) == tasks
    assert set(tasks) == {each.task for plan in (packing, proposed) for each in plan.instances()}
    assert [container.id for container in both.containers] == sorted(
        {container.id for plan in (packing, proposed) for container in plan.containers}
    )
    assert (both.epoch, both.next_task) == (proposed.epoch, proposed.next_task)
    assert union(packing, packing) == packing
    come, go = packing.changes(proposed)
    assert packing.changes(both) == (come, [])
    assert both.changes(proposed) == ([], go)
