"""Dealing in turn to a fixed number of containers, and what RAM everybody gets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heronpy.kernel.errors import PackingError
from heronpy.kernel.plans import PackingPlan, Resources
from heronpy.kernel.plans.packing import GB
from heronpy.plugins.packing.round_robin import RoundRobin
from heronpy.testing.packing import initialized, pictured

TWO = {"topology.stmgrs": 2}
EIGHT = {"spout": 4, "bolt": 4}


def ram(plan: PackingPlan) -> dict[str, float]:
    """GB by label."""
    return {f"{each.component}[{each.index}]": each.resources.ram / GB for each in plan.instances()}


@pytest.mark.parametrize(
    ("changes", "after"),
    [
        ({"spout": -1, "bolt": 1}, {1: "BBSS", 2: "BBSB"}),
        ({"spout": 1, "bolt": 1}, {1: "BBSS", 2: "BBSS", 3: "BS"}),
        ({"spout": -2, "bolt": -2}, {1: "BBSS"}),
    ],
)
def test_known_container_counts(changes: dict[str, int], after: dict[int, str]) -> None:
    manager = initialized(RoundRobin, TWO, EIGHT)
    plan = manager.pack()
    assert pictured(plan) == {1: "BBSS", 2: "BBSS"}
    assert pictured(manager.repack(plan, changes)) == after


def test_where_fewer_containers_would_need_a_move_they_stay() -> None:
    manager = initialized(RoundRobin, TWO, EIGHT)
    after = manager.repack(manager.pack(), {"bolt": -4})
    assert pictured(after) == {1: "SS", 2: "SS"}


def test_up_and_down_again_and_again_takes_no_more_containers_than_up_once() -> None:
    manager = initialized(RoundRobin, TWO, EIGHT)
    plan = manager.pack()
    used = []
    for _ in range(5):
        for change in ({"spout": -3, "bolt": 3}, {"bolt": 1}, {"spout": 3, "bolt": -3}, {"bolt": -1}):
            plan = manager.repack(plan, change)
            used.append(len(plan.containers))
    assert max(used) == 3
    assert sorted(plan.counts().values()) == [4, 4]


def test_components_with_more_ram_are_dealt_first_then_by_name() -> None:
    config = TWO | {"topology.component.rammap": "zebra:2GB"}
    plan = initialized(RoundRobin, config, {"yak": 1, "ant": 2, "zebra": 1}).pack()
    assert [(each.task, each.component, each.index) for each in plan.instances()] == [
        (1, "zebra", 0),
        (2, "ant", 0),
        (3, "ant", 1),
        (4, "yak", 0),
    ]
    assert pictured(plan) == {1: "ZA", 2: "AY"}


def test_without_sizes_a_container_has_a_gigabyte_for_each_of_the_most_and_one_more() -> None:
    plan = initialized(RoundRobin, TWO).pack()
    assert pictured(plan) == {1: "BBSS", 2: "BSS"}
    assert {container.resources for container in plan.containers} == {Resources(5.0, 5 * GB, 5 * GB)}
    assert plan.containers[0].instances[0].resources == Resources(1.0, GB, GB)
    assert plan.containers[1].instances[0].resources == Resources(1.0, GB, GB)


@given(
    counts=st.dictionaries(st.sampled_from(["ant", "bee", "cat"]), st.integers(1, 6), min_size=1),
    stmgrs=st.integers(1, 4),
    growth=st.integers(-3, 6),
    container_ram=st.sampled_from([None, "20GB"]),
)
def test_all_instances_of_a_component_have_one_size_before_and_after_an_update(
    counts: dict[str, int], stmgrs: int, growth: int, container_ram: str | None
) -> None:
    config = {"topology.stmgrs": min(stmgrs, sum(counts.values())), "topology.container.ram": container_ram}
    manager = initialized(RoundRobin, config, counts)
    plan = manager.pack()
    changed = manager.repack(plan, {min(counts): max(growth, 1 - counts[min(counts)])})
    for each in (plan, changed):
        sizes = {(instance.component, instance.resources) for instance in each.instances()}
        assert len(sizes) == len(counts)


def test_those_without_a_size_share_what_the_others_leave() -> None:
    config = {"topology.container.ram": "12GB", "topology.component.rammap": "bolt:1GB"}
    plan = initialized(RoundRobin, config).pack()
    assert ram(plan) == {f"bolt[{n}]": 1 for n in range(3)} | {f"spout[{n}]": 2 for n in range(4)}
    assert plan.containers[0].resources.ram == 12 * GB


def test_the_padding_can_be_set() -> None:
    config = {"topology.container.ram": "8GB", "topology.container.ram.padding": "4GB"}
    assert set(ram(initialized(RoundRobin, config, {"spout": 4}).pack()).values()) == {1}


def test_components_that_ask_for_much_make_the_container_larger() -> None:
    plan = initialized(RoundRobin, {"topology.component.rammap": "bolt:8GB"}, {"spout": 1, "bolt": 1}).pack()
    assert ram(plan) == {"bolt[0]": 8, "spout[0]": 1}
    assert plan.containers[0].resources.ram == 10 * GB


@pytest.mark.parametrize("stmgrs", [0, -1, 8])
def test_a_count_without_an_instance_for_each_names_both_numbers(stmgrs: int) -> None:
    with pytest.raises(PackingError, match=rf"topology\.stmgrs is {stmgrs}, .* has 7 instances"):
        initialized(RoundRobin, {"topology.stmgrs": stmgrs}).pack()


def test_a_container_that_is_too_small_is_named() -> None:
    config = {"topology.container.ram": "4GB", "topology.component.rammap": "bolt:1GB"}
    message = r"topology\.container\.ram is 4GB: too small for 7 instances such as 'bolt' that ask for 3GB"
    with pytest.raises(PackingError, match=message):
        initialized(RoundRobin, config).pack()
    with pytest.raises(PackingError, match=r"is 1GB: .*'bolt'.* padding of 1GB"):
        initialized(RoundRobin, {"topology.container.ram": "1GB"}).pack()
