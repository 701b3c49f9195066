"""At most once: what kills cost lies in the interval that the engine reports, and nothing comes twice."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.engine import TOPOLOGIES, Engine, wait_until


def total(status: dict[str, Any], number: str) -> int:
    return sum(int(instance[number]) for instance in status["instances"])


def kill(engine: Engine, label: str) -> None:
    """Kill one instance, and wait until its successor has been at work for a while."""

    def pid_of() -> int:
        return next(
            int(one["pid"])
            for one in engine.status("Witnessed")["instances"]
            if f"{one['component']}[{one['index']}]" == label and one["state"] == "running"
        )

    pid = pid_of()
    os.kill(pid, signal.SIGKILL)

    def is_back() -> bool:
        status = engine.status("Witnessed")
        return status["state"] == "RUNNING" and all(one["pid"] != pid for one in status["instances"])

    wait_until(is_back, 30, f"a new {label}", engine.log_tails)
    time.sleep(2.0)  # counters are as of the last report, which each process sends once a second


def at_rest(engine: Engine) -> dict[str, Any]:
    """The status of the paused topology once its numbers do not change any more."""
    engine.ok("deactivate", "Witnessed")
    last: dict[str, Any] = {}
    quiet_since = time.monotonic()
    while time.monotonic() - quiet_since < 4:
        status = engine.status("Witnessed")
        numbers = {name: total(status, name) for name in ("executed", "queue", "lost_max", "lost_min")}
        if numbers != last or numbers["queue"]:
            last, quiet_since = numbers, time.monotonic()
        time.sleep(0.2)
    return engine.status("Witnessed")


@pytest.mark.cluster
def test_what_kills_cost_lies_in_the_reported_interval(engine: Engine, tmp_path: Path) -> None:
    engine.ok("submit", str(TOPOLOGIES / "witnessed.py"), str(tmp_path))
    wait_until(lambda: total(engine.status("Witnessed"), "executed") > 10_000, 30, "the first tuples")
    time.sleep(2.0)
    for label in ("witness[0]", "numbers[0]", "witness[1]", "numbers[0]"):
        kill(engine, label)
    status = at_rest(engine)

    emitted = int.from_bytes((tmp_path / "emitted").read_bytes(), "little")
    seen = Counter[int]()
    for path in tmp_path.glob("seen-*"):
        seen.update(dict(enumerate(path.read_bytes()[:emitted])))
    assert max(seen.values()) == 1
    lost = emitted - sum(seen.values())
    assert lost > 0
    assert status["lost_min"] <= lost <= status["lost_max"], (lost, status["lost_min"], status["lost_max"])
    shown = f"lost  between {status['lost_min']:,} and {status['lost_max']:,} tuples\n"
    assert shown in engine.ok("status", "Witnessed")
    engine.ok("kill", "Witnessed")
