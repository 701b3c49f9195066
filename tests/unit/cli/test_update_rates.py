"""The rates in update's closing line: none is better than one that was measured over a death."""

from __future__ import annotations

from heronpy.cli.changing.update_rates import measuring, rates_of
from heronpy.kernel.status import InstanceStatus, TopologyStatus


def counting(task: int, *, since: float, restarts: int = 0) -> InstanceStatus:
    return InstanceStatus(
        task=task,
        component="count",
        index=task,
        container=1,
        kind="bolt",
        state="running",
        since=since,
        restarts=restarts,
        execute_rate=500.0,
    )


def status(*instances: InstanceStatus) -> TopologyStatus:
    return TopologyStatus(name="words", state="RUNNING", at=100.0, instances=instances)


def test_the_rate_of_a_component_is_that_of_its_instances() -> None:
    steady = status(counting(0, since=90.0), counting(1, since=10.0, restarts=3))
    assert rates_of(steady, ["count"], within=measuring(1.0)) == {"count": 1000.0}


def test_a_rate_over_a_restart_is_none() -> None:
    restarted = status(counting(0, since=90.0), counting(1, since=99.0, restarts=1))
    assert rates_of(restarted, ["count"], within=measuring(1.0)) == {}


def test_an_instance_that_is_new_has_not_died() -> None:
    new = status(counting(0, since=90.0), counting(1, since=99.0))
    assert rates_of(new, ["count"], within=measuring(1.0)) == {"count": 1000.0}
