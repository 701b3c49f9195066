"""Dealing in turn without going over capacity."""

from __future__ import annotations

from typing import Any

import pytest

from heronpy.kernel.errors import PackingError
from heronpy.plugins.packing.resource_compliant import ResourceCompliant
from heronpy.testing.packing import drawn, initialized, pictured

FOUR = {"topology.container.max.instances": 4}


@pytest.mark.parametrize(
    ("config", "containers"),
    [
        pytest.param({"topology.container.ram": "2GB"}, 7, id="RAM 2 GB"),
        pytest.param(
            {"topology.container.ram": "3GB", "topology.component.rammap": "spout:2GB"}, 7, id="2 GB spouts"
        ),
        pytest.param({}, 3, id="defaults"),
        pytest.param({"topology.stmgrs": 5}, 5, id="more asked for than needed"),
    ],
)
def test_known_container_counts(config: dict[str, Any], containers: int) -> None:
    assert len(initialized(ResourceCompliant, FOUR | config).pack().containers) == containers


def test_growth_that_does_not_fit_gets_containers_for_all_of_it() -> None:
    manager = initialized(ResourceCompliant, FOUR)
    plan = manager.pack()
    assert pictured(plan) == {1: "BSS", 2: "BS", 3: "BS"}
    assert pictured(manager.repack(plan, {"bolt": 5})) == {1: "BSS", 2: "BSB", 3: "BSB", 4: "BB", 5: "B"}


def test_growth_that_fits_opens_no_container() -> None:
    manager = initialized(ResourceCompliant, FOUR)
    assert pictured(manager.repack(manager.pack(), {"bolt": 2})) == {1: "BSS", 2: "BSB", 3: "BSB"}


def test_what_is_removed_makes_room_for_what_comes() -> None:
    plan = initialized(ResourceCompliant, FOUR).repack(drawn({1: "SSS", 2: "SBB"}), {"spout": -3, "bolt": 3})
    assert pictured(plan) == {1: "SBB", 2: "BBB"}


def test_an_instance_too_large_for_the_gaps_opens_a_container() -> None:
    manager = initialized(ResourceCompliant, FOUR | {"topology.component.rammap": "bolt:3GB"})
    plan = manager.repack(drawn({1: "SS", 2: "S"}), {"bolt": 1})
    assert pictured(plan) == {1: "SS", 2: "S", 3: "B"}


def test_containers_that_shrinking_empties_are_gone() -> None:
    plan = initialized(ResourceCompliant, FOUR).repack(drawn({1: "SSB", 3: "BB", 4: "BB"}), {"bolt": -2})
    assert pictured(plan) == {1: "SSB", 3: "BB"}


@pytest.mark.parametrize("stmgrs", [0, -1, 8])
def test_a_count_without_an_instance_for_each_names_both_numbers(stmgrs: int) -> None:
    with pytest.raises(PackingError, match=rf"topology\.stmgrs is {stmgrs}, .* has 7 instances"):
        initialized(ResourceCompliant, {"topology.stmgrs": stmgrs}).pack()


def test_a_container_that_is_too_small_is_named() -> None:
    with pytest.raises(PackingError, match=r"'bolt' needs 12GB of RAM.*topology\.container\.ram"):
        initialized(ResourceCompliant, {"topology.component.rammap": "bolt:12GB"}).pack()
