"""Reading the topology.* settings: every spelling that is accepted, and what is said about the others."""

from __future__ import annotations

from typing import Any

import pytest

from heronpy.kernel.errors import PackingError
from heronpy.kernel.plans import Resources
from heronpy.kernel.plans.packing import GB, MB
from heronpy.plugins.packing.request import PackingRequest, read_request
from heronpy.testing.packing import topology_of


def test_without_settings_everything_has_its_default() -> None:
    assert read_request(topology_of()) == PackingRequest("t", {"spout": 4, "bolt": 3})


def test_text_as_a_flag_gives_it_means_the_same_as_numbers() -> None:
    numbers = {
        "topology.stmgrs": 2,
        "topology.container.cpu": 2.5,
        "topology.container.ram": 2 * GB,
        "topology.container.disk": 3 * GB,
        "topology.container.padding.percentage": 20,
        "topology.container.ram.padding": 512 * MB,
        "topology.container.max.instances": 6,
        "topology.component.cpumap": {"bolt": 0.5},
        "topology.component.rammap": {"bolt": GB, "spout": "2GB"},
        "topology.component.diskmap": {"bolt": MB},
    }
    text = {
        "topology.stmgrs": "2",
        "topology.container.cpu": "2.5",
        "topology.container.ram": "2GB",
        "topology.container.disk": "3GB",
        "topology.container.padding.percentage": "20",
        "topology.container.ram.padding": "512MB",
        "topology.container.max.instances": "6",
        "topology.component.cpumap": "bolt:0.5",
        "topology.component.rammap": f"bolt:{GB}, spout:2GB",
        "topology.component.diskmap": "bolt:1MB,",
    }
    request = read_request(topology_of(config=numbers))
    assert request == read_request(topology_of(config=text))
    assert request.instance("bolt") == Resources(0.5, GB, MB)
    assert request.instance("spout") == Resources(1.0, 2 * GB, GB)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("topology.component.rammap", "bolt:0", "component 'bolt' cannot run in 0 bytes of RAM"),
        ("topology.component.rammap", {"blot": 1}, "'blot'.*did you mean 'bolt'"),
        ("topology.component.rammap", "bolt", "'bolt' has no colon"),
        ("topology.component.rammap", 7, "must be a dict or a string"),
        ("topology.component.rammap", "bolt:lots", "'bolt' cannot be 'lots'"),
        ("topology.component.cpumap", "bolt:-1", "'bolt' cannot be '-1'"),
        ("topology.container.ram", 0, "must be more than 0"),
        ("topology.container.cpu", "nan", "cannot be 'nan'"),
        ("topology.container.disk", "2 parsecs", "cannot be '2 parsecs'"),
        ("topology.container.max.instances", 0, "must be more than 0"),
        ("topology.container.padding.percentage", 100, "less than 100"),
        ("topology.stmgrs", 1.5, "whole number"),
        ("topology.stmgrs", True, "whole number"),
        ("topology.stmgrs", [], r"cannot be \[\]"),
        ("topology.packing.ffd.sorting.strategy", "disk", "RAM_FIRST or CPU_FIRST, got 'disk'"),
    ],
)
def test_a_setting_that_makes_no_sense_is_named(key: str, value: Any, message: str) -> None:
    with pytest.raises(PackingError, match=message) as caught:
        read_request(topology_of(config={key: value}))
    assert key in str(caught.value)
