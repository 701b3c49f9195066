"""Deltas that cannot be applied, said by every algorithm in the same words."""

from __future__ import annotations

import pytest

from heronpy.kernel.errors import PackingError
from heronpy.kernel.plugin import ResourceManager
from heronpy.plugins.packing.hooks import heron_resource_managers
from heronpy.testing.packing import drawn, initialized


@pytest.mark.parametrize("kind", heron_resource_managers().values())
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bolt": -4}, "cannot remove 4 instances of 'bolt': it has 3"),
        ({"blot": 1}, "topology 't' has no component 'blot'; did you mean 'bolt'?"),
        ({"sink": 1}, "topology 't' has no component 'sink' \\(known: bolt, spout\\)"),
        ({"bolt": -3, "spout": -4}, "removing that many of bolt, spout would leave no instance"),
    ],
)
def test_an_impossible_change_is_explained(
    kind: type[ResourceManager], changes: dict[str, int], message: str
) -> None:
    manager = initialized(kind)
    plan = manager.pack()
    with pytest.raises(PackingError, match=message):
        manager.repack(plan, changes)


@pytest.mark.parametrize("kind", heron_resource_managers().values())
def test_a_new_index_follows_the_highest_and_leaves_gaps_alone(kind: type[ResourceManager]) -> None:
    manager = initialized(kind, {"topology.container.max.instances": 4})
    shrunk = manager.repack(drawn({1: "SSB", 2: "BB", 3: "B"}), {"bolt": -1})
    kept = [each.index for each in shrunk.instances() if each.component == "bolt"]
    grown = manager.repack(shrunk, {"bolt": 1})
    assert [each.index for each in grown.instances() if each.component == "bolt"] == [*kept, max(kept) + 1]


@pytest.mark.parametrize("kind", heron_resource_managers().values())
def test_the_lowest_task_of_a_component_is_the_last_to_go(kind: type[ResourceManager]) -> None:
    """Its container is the one that an algorithm would like to free; a global grouping must not move."""
    manager = initialized(kind, {"topology.container.max.instances": 4})
    shrunk = manager.repack(drawn({1: "B", 2: "SBB", 3: "SBB"}), {"bolt": -4})
    assert [(each.task, each.index) for each in shrunk.instances() if each.component == "bolt"] == [(1, 0)]
