"""deactivate stops the spouts and nothing else; activate lets them go on."""

from __future__ import annotations

import time
from typing import Any

import pytest
from support.engine import TOPOLOGIES, Engine, wait_until


def emitted(status: dict[str, Any]) -> int:
    return sum(int(i["emitted"]) for i in status["instances"])


@pytest.mark.cluster
def test_a_paused_topology_emits_nothing_until_it_is_activated(engine: Engine) -> None:
    engine.ok("submit", str(TOPOLOGIES / "trickle.py"), "pausing")
    wait_until(lambda: emitted(engine.status("pausing")) > 3, 20, "first tuples")

    engine.ok("deactivate", "pausing")
    time.sleep(3)  # numbers are two seconds old at most: the last are in
    paused = engine.status("pausing")
    assert paused["state"] == "PAUSED"
    time.sleep(3)
    assert emitted(engine.status("pausing")) == emitted(paused)

    engine.ok("activate", "pausing")
    wait_until(lambda: emitted(engine.status("pausing")) > emitted(paused), 10, "new tuples")
    assert engine.status("pausing")["state"] == "RUNNING"
    engine.ok("kill", "pausing")
    assert engine.leftovers() == []
