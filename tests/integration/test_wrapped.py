"""A harness that wraps all components, at at_least_once: everything is acked, then the end comes through."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.running.engine import TOPOLOGIES, Engine, wait_until

#: what is collected in the end: once, and every tuple exactly once
RESULTS = {
    # twice from three tasks of spouts that emit five each; from one of them also to two tasks of another bolt
    "Doubled": [["a"]] * (2 * 15 + 2 * 2 * 5) + [["b"]] * (2 * 15 + 2 * 2 * 5),
    "Counted": [["a", 400], ["b", 400]],
}
ACKED = {"Doubled": 30, "Counted": 400}


def spouts_of(engine: Engine, name: str) -> list[dict[str, Any]]:
    return [row for row in engine.status(name)["instances"] if row["kind"] == "spout"]


def all_acked(engine: Engine, name: str) -> bool:
    rows = spouts_of(engine, name)
    return sum(row["acked"] for row in rows) == ACKED[name] and not any(row["pending"] for row in rows)


@pytest.mark.cluster
def test_every_wrapped_component_gets_all_acks_and_then_the_end(engine: Engine, tmp_path: Path) -> None:
    engine.ok("submit", str(TOPOLOGIES / "wrapped.py"), str(tmp_path), timeout=120)
    for name, expected in RESULTS.items():
        results = tmp_path / name
        wait_until(results.is_file, 30, f"the results of {name}", engine.log_tails)
        wait_until(partial(all_acked, engine, name), 10, f"the acks of {name}")
        assert [json.loads(line) for line in results.read_text().splitlines()] == [expected]
        assert engine.status(name)["reliability"] == "at_least_once"
        assert sum(row["failed"] for row in spouts_of(engine, name)) == 0
    logs = "\n".join(log.read_text() for log in engine.home.glob("topologies/*/logs/*.log"))
    assert "Traceback" not in logs

    engine.ok("kill", "--all")
    assert engine.leftovers() == []
