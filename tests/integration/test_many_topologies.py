"""Ten topologies side by side, packed by different plugins: all run, and none leaves anything."""

from __future__ import annotations

import json

import pytest
from support.running.engine import TOPOLOGIES, Engine, wait_until

PACKINGS = ["round_robin", "resource_compliant", "binpack"]


@pytest.mark.cluster
@pytest.mark.timeout(300)
def test_ten_topologies_run_side_by_side_and_all_go(engine: Engine) -> None:
    chosen = {f"side-{number}": PACKINGS[number % len(PACKINGS)] for number in range(10)}
    for name, packing in chosen.items():
        engine.ok("submit", str(TOPOLOGIES / "trickle.py"), name, "--packing", packing, "--no-wait")

    def executed(name: str) -> int:
        return sum(int(instance["executed"]) for instance in engine.status(name)["instances"])

    for name in chosen:
        wait_until(lambda name=name: executed(name) > 5, 60, f"tuples in {name}")  # type: ignore[misc]
    listed = {row["name"]: row for row in json.loads(engine.ok("list", "-o", "json"))}
    assert {name: (row["packing"], row["state"]) for name, row in listed.items()} == {
        name: (packing, "RUNNING") for name, packing in chosen.items()
    }

    engine.ok("kill", "--all", timeout=120)
    assert engine.leftovers() == []
