"""A slow bolt slows its spout through credit, and nothing grows."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from support.running.engine import TOPOLOGIES, Engine, wait_until


def instance(status: dict[str, Any], component: str) -> dict[str, Any]:
    return next(i for i in status["instances"] if i["component"] == component)


@pytest.mark.cluster
def test_a_slow_bolt_holds_its_spout_back(engine: Engine) -> None:
    engine.ok("submit", str(TOPOLOGIES / "slow_sink.py"))
    first: dict[str, Any] = {}

    def all_have_reported() -> bool:
        nonlocal first
        first = engine.status("SlowSink")
        known = all(each["memory_bytes"] for each in first["instances"])
        return known and bool(instance(first, "slow")["executed"] > 300)

    wait_until(all_have_reported, 30, "the first tuples", engine.log_tails)
    begun, second = time.monotonic(), first

    def some_seconds_of_work() -> bool:
        nonlocal second
        second = engine.status("SlowSink")
        return bool(instance(second, "slow")["executed"] > instance(first, "slow")["executed"] + 600)

    wait_until(some_seconds_of_work, 30, "600 tuples more", engine.log_tails)
    # Each of the two numbers may be a report or two old.
    seconds = time.monotonic() - begun + 3

    emitted = instance(second, "flood")["emitted"] - instance(first, "flood")["emitted"]
    executed = instance(second, "slow")["executed"] - instance(first, "slow")["executed"]
    # The bolt manages at most 200 a second; a quarter of a second of work, and one batch, may be under way.
    assert executed <= 200 * seconds
    assert emitted <= executed + 1024
    assert instance(second, "slow")["queue"] <= 1024
    assert instance(second, "flood")["waiting"] > 0.5
    for before, after in zip(first["instances"], second["instances"], strict=True):
        assert after["memory_bytes"] - before["memory_bytes"] < 8 << 20
    engine.ok("kill", "SlowSink")


@pytest.mark.cluster
def test_the_bolt_that_holds_others_up_is_named_and_an_unrelated_path_flows_on(
    engine: Engine, tmp_path: Path
) -> None:
    blocked = tmp_path / "blocked"
    blocked.touch()
    engine.ok("submit", str(TOPOLOGIES / "two_paths.py"), str(blocked))

    def backpressure() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = engine.status("TwoPaths")["backpressure"]
        return found

    wait_until(lambda: bool(backpressure()), 30, "the culprit in the status")
    before = engine.status("TwoPaths")
    wait_until(lambda: backpressure()[0]["seconds"] > 5, 30, "a duration that grows")
    (found,) = backpressure()
    dam = instance(before, "dam")
    assert (found["culprit"], found["container"]) == ("dam[0]", dam["container"])
    assert (found["spouts"], found["bolts"]) == (["flood[0]"], [])
    shown = engine.ok("status", "TwoPaths")
    assert f"back-pressure  dam[0] (container {dam['container']}) for " in shown
    assert ", holds up flood[0]\n" in shown
    assert instance(engine.status("TwoPaths"), "brook")["executed"] > instance(before, "brook")["executed"]
    (log,) = engine.home.glob("topologies/*/logs/flood[[]0].log")
    assert "held up by dam[0] in container" in log.read_text()

    blocked.unlink()  # it has thousands of tuples to work off
    engine.ok("deactivate", "TwoPaths")
    wait_until(lambda: not backpressure(), 60, "a spout that no longer waits")
    assert "no longer held up by dam[0], after " in log.read_text()
    engine.ok("kill", "TwoPaths")
