"""How often a topology is saved: its own word first, then the settings, and only where it must be."""

from __future__ import annotations

from typing import Any

import pytest

from heronpy.kernel.checkpoints.interval import KEY, checkpoint_interval
from heronpy.kernel.config import load_config
from heronpy.kernel.errors import TopologyError
from heronpy.kernel.plans import LogicalPlan

CONFIG = load_config("/dev/null", environ={})


NOTHING = object()


def plan(reliability: Any, seconds: Any = NOTHING) -> LogicalPlan:
    config = {} if seconds is NOTHING else {KEY: seconds}
    return LogicalPlan("wordcount", (), config, reliability=reliability)


def test_effectively_once_has_the_interval_of_the_settings() -> None:
    assert checkpoint_interval(plan("effectively_once"), CONFIG) == 10.0
    faster = load_config("/dev/null", environ={}, flags={"checkpoint.interval": "500ms"})
    assert checkpoint_interval(plan("effectively_once"), faster) == 0.5


@pytest.mark.parametrize("reliability", ["at_most_once", "at_least_once"])
def test_the_other_modes_save_only_when_the_topology_says_so(reliability: str) -> None:
    assert checkpoint_interval(plan(reliability), CONFIG) == 0.0
    assert checkpoint_interval(plan(reliability, seconds=30), CONFIG) == 30.0


def test_the_topologys_own_interval_goes_before_the_settings() -> None:
    assert checkpoint_interval(plan("effectively_once", seconds=2), CONFIG) == 2.0
    assert checkpoint_interval(plan("effectively_once", seconds="2.5"), CONFIG) == 2.5
    assert checkpoint_interval(plan("effectively_once", seconds=0), CONFIG) == 0.0


@pytest.mark.parametrize("value", [-1, 0.05, "often", True, None, [10], float("inf"), "nan"])
def test_what_is_no_interval_is_refused_in_one_line(value: Any) -> None:
    with pytest.raises(TopologyError) as refused:
        checkpoint_interval(plan("effectively_once", seconds=value), CONFIG)
    assert str(refused.value) == (
        f"topology 'wordcount': {KEY} must be a number of at least 0.1, or 0 for none, got {value!r}"
    )


def test_a_value_that_only_an_instance_could_read_is_refused_too() -> None:
    odd = LogicalPlan("wordcount", (), opaque_config={KEY: b"a pickle"})
    with pytest.raises(TopologyError, match=r"got something that is not a number$"):
        checkpoint_interval(odd, CONFIG)
