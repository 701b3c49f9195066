"""A slow bolt slows its spout through credit, and nothing grows."""

from __future__ import annotations

import time
from typing import Any

import pytest
from support.engine import TOPOLOGIES, Engine, wait_until


def instance(status: dict[str, Any], component: str) -> dict[str, Any]:
    return next(i for i in status["instances"] if i["component"] == component)


@pytest.mark.cluster
def test_a_slow_bolt_holds_its_spout_back(engine: Engine) -> None:
    engine.ok("submit", str(TOPOLOGIES / "slow_sink.py"))
    wait_until(lambda: instance(engine.status("SlowSink"), "slow")["executed"] > 300, 30, "the first tuples")
    begun = time.monotonic()
    first = engine.status("SlowSink")
    time.sleep(5)
    second = engine.status("SlowSink")
    # Each of the two numbers may be a report or two old.
    seconds = time.monotonic() - begun + 3

    emitted = instance(second, "flood")["emitted"] - instance(first, "flood")["emitted"]
    executed = instance(second, "slow")["executed"] - instance(first, "slow")["executed"]
    # The bolt manages at most 200 a second; a quarter of a second of work, and one batch, may be under way.
    assert 0 < executed <= 200 * seconds
    assert emitted <= executed + 1024
    assert instance(second, "slow")["queue"] <= 1024
    assert instance(second, "flood")["waiting"] > 0.5
    for before, after in zip(first["instances"], second["instances"], strict=True):
        assert after["memory_bytes"] - before["memory_bytes"] < 8 << 20
    engine.ok("kill", "SlowSink")
