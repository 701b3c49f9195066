"""First fit decreasing: container counts that are known, and who goes when it shrinks."""

from __future__ import annotations

from typing import Any

import pytest

from heronpy.kernel.errors import PackingError
from heronpy.kernel.plans import InstancePlan, Resources
from heronpy.kernel.plans.packing import GB
from heronpy.plugins.packing.binpack import BinPack
from heronpy.testing.packing import drawn, initialized, pictured

FOUR = {"topology.container.max.instances": 4}
RAM_10 = FOUR | {"topology.container.ram": "10GB"}
BOLT_4 = RAM_10 | {"topology.component.rammap": "bolt:4GB"}


@pytest.mark.parametrize(
    ("config", "containers"),
    [
        pytest.param(FOUR, 3, id="defaults"),
        pytest.param(FOUR | {"topology.container.padding.percentage": 50}, 4, id="padding of 50 %"),
        pytest.param(
            RAM_10 | {"topology.container.cpu": 30, "topology.container.disk": "20GB"},
            2,
            id="large containers",
        ),
        pytest.param(RAM_10 | {"topology.component.rammap": "spout:2GB,bolt:1GB"}, 3, id="2 GB spouts"),
        pytest.param(BOLT_4, 3, id="4 GB bolts"),
    ],
)
def test_known_container_counts(config: dict[str, Any], containers: int) -> None:
    assert len(initialized(BinPack, config).pack().containers) == containers


@pytest.mark.parametrize(
    ("config", "changes", "before", "after"),
    [
        pytest.param(FOUR, {"bolt": 5}, 3, 4, id="bolts +5"),
        pytest.param(FOUR, {"spout": -3, "bolt": -2}, 3, 2, id="spouts -3 bolts -2"),
        pytest.param(FOUR, {"spout": -4}, 3, 2, id="spouts -4"),
        pytest.param(FOUR, {"spout": -4, "bolt": 6}, 3, 3, id="spouts -4 bolts +6"),
        pytest.param(BOLT_4, {"bolt": 3}, 3, 4, id="4 GB bolts +3"),
        pytest.param(
            BOLT_4 | {"topology.container.padding.percentage": 50},
            {"bolt": 3},
            4,
            6,
            id="4 GB bolts +3, padded",
        ),
    ],
)
def test_known_container_counts_after_a_repack(
    config: dict[str, Any], changes: dict[str, int], before: int, after: int
) -> None:
    manager = initialized(BinPack, config)
    plan = manager.pack()
    assert len(plan.containers) == before
    assert len(manager.repack(plan, changes).containers) == after


@pytest.mark.parametrize(
    ("placed", "changes", "left"),
    [
        ({1: "SSB", 3: "BB", 4: "BB"}, {"bolt": -2}, {1: "SSB", 3: "BB"}),
        ({1: "SSBB", 3: "SSBB"}, {"spout": -2, "bolt": -2}, {1: "SSBB"}),
        ({1: "SSB", 3: "BBBB"}, {"bolt": -4}, {1: "SSB"}),
    ],
)
def test_shrinking_frees_whole_containers(
    placed: dict[int, str],
    changes: dict[str, int],
    left: dict[int, str],
) -> None:
    assert pictured(initialized(BinPack, FOUR).repack(drawn(placed), changes)) == left


def test_the_plan_of_the_defaults_in_full() -> None:
    plan = initialized(BinPack, FOUR).pack()
    assert pictured(plan) == {1: "SSS", 2: "SBB", 3: "B"}
    one = Resources(1.0, GB, GB)
    assert plan.containers[1].instances == (
        InstancePlan(4, "spout", 3, one),
        InstancePlan(5, "bolt", 0, one),
        InstancePlan(6, "bolt", 1, one),
    )
    # nobody set a size, so a container asks for what is in it and its padding
    assert plan.containers[2].resources == Resources(2.0, 2 * GB, 2 * GB)
    assert (plan.topology, plan.algorithm, plan.next_task, plan.epoch) == ("t", "binpack", 8, 1)


def test_a_size_that_the_user_set_is_what_the_scheduler_is_asked_for() -> None:
    (first, *_) = initialized(BinPack, RAM_10).pack().containers
    assert first.resources == Resources(4.0, 10 * GB, 4 * GB)


def test_growth_fills_the_lowest_gap_and_then_new_containers() -> None:
    plan = initialized(BinPack, FOUR).repack(drawn({2: "SS", 5: "BBB", 7: "S"}), {"bolt": 5})
    assert pictured(plan) == {2: "SSB", 5: "BBB", 7: "SBB", 8: "BB"}
    new = [(instance.task, instance.index) for instance in plan.instances() if instance.task > 6]
    assert new == [(7, 3), (8, 4), (9, 5), (10, 6), (11, 7)]
    assert (plan.next_task, plan.epoch) == (12, 2)


def test_the_id_of_a_container_that_goes_is_not_given_to_one_that_comes() -> None:
    plan = initialized(BinPack, FOUR).repack(drawn({1: "BBB", 2: "S"}), {"spout": -1, "bolt": 1})
    assert pictured(plan) == {1: "BBB", 3: "B"}


def test_containers_that_nothing_happened_to_stay_equal() -> None:
    manager = initialized(BinPack, FOUR)
    plan = manager.pack()
    assert manager.repack(plan, {"bolt": 1}).containers[:2] == plan.containers[:2]


@pytest.mark.parametrize(
    ("strategy", "first"), [("RAM_FIRST", "bolt"), ("CPU_FIRST", "spout"), ("cpu", "spout")]
)
def test_the_sorting_strategy_says_who_comes_first(strategy: str, first: str) -> None:
    config = {
        "topology.component.rammap": {"bolt": "2GB"},
        "topology.component.cpumap": {"spout": 2},
        "topology.packing.ffd.sorting.strategy": strategy,
    }
    assert initialized(BinPack, config).pack().instances()[0].component == first


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            {"topology.component.rammap": "bolt:12GB"},
            r"'bolt' needs 12GB of RAM.*room for 9GB.*topology\.container\.ram",
        ),
        (
            {"topology.component.cpumap": "spout:9.5"},
            r"'spout' needs 9\.5 of CPU.*room for 9 .*topology\.container\.cpu",
        ),
        ({"topology.component.diskmap": "bolt:1TB"}, r"'bolt' needs 1TB of disk.*topology\.container\.disk"),
        ({"topology.container.ram": "1GB"}, r"'spout' needs 1GB of RAM.*room for 0B"),
    ],
)
def test_a_container_that_is_too_small_is_named(config: dict[str, Any], message: str) -> None:
    with pytest.raises(PackingError, match=message):
        initialized(BinPack, config).pack()


def test_growth_that_fits_nowhere_is_refused() -> None:
    manager = initialized(BinPack, {"topology.component.rammap": "bolt:12GB"})
    plan = drawn({1: "SB"})
    with pytest.raises(PackingError, match="'bolt' needs 12GB"):
        manager.repack(plan, {"bolt": 1})
    assert pictured(manager.repack(plan, {"spout": 1})) == {1: "SBS"}


def test_tenths_of_a_core_add_up_exactly() -> None:
    """In floats 0.1 + 0.2 is more than 0.3."""
    config = {"topology.container.cpu": 1.3, "topology.component.cpumap": "a:0.1,b:0.2"}
    assert len(initialized(BinPack, config, {"a": 1, "b": 1}).pack().containers) == 1
