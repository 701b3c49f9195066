"""Storm's classic grouping results, from real processes in two containers.

A few cells run with all tests, the whole matrix in `make chaos`.
"""

from __future__ import annotations

import itertools
import json
import os
from collections import Counter
from pathlib import Path

import pytest
from support.running.engine import TOPOLOGIES, Engine, wait_until

EXPECTED_WORDS = {
    "all_result": {"A": 10, "B": 10},
    "three_result": {"A": 15, "B": 15},
    "none_result": {"A": 5, "B": 5},
    "shuffle_result": {"A": 5, "B": 5},
    "twice_result": {"A": 10, "B": 10},
    "both_result": {"A": 30, "B": 30},
}
EXPECTED_DISTINCT = {"global_result": [0, 0, 2], "fields_result": 2}

#: what words are emitted and taken by, topology.fuse, transport.local
FEW = [
    ("rows", "none", "zmq"),
    ("batches", "none", "unix"),
    ("batches", "container", "zmq"),
    ("columns", "container", "unix"),
]
MATRIX = list(itertools.product(["rows", "batches", "columns"], ["none", "container"], ["unix", "zmq"]))


def results(folder: Path) -> dict[str, object]:
    """What the sinks have written so far, tasks of one component added up."""
    found: dict[str, object] = {}
    for name in EXPECTED_WORDS:
        total: Counter[str] = Counter()
        for path in folder.glob(f"{name}-*.json"):
            total.update(json.loads(path.read_text() or "{}"))
        found[name] = dict(total)
    latest = {
        name: json.loads(path.read_text() or "{}")
        for name in EXPECTED_DISTINCT
        for path in folder.glob(f"{name}-*.json")
    }
    found["global_result"] = sorted(latest.get("global_result", {}).values())
    found["fields_result"] = sum(latest.get("fields_result", {}).values())
    return found


@pytest.mark.cluster
@pytest.mark.parametrize(("unit", "fuse", "links"), MATRIX if "CHAOS_KILLS" in os.environ else FEW)
def test_every_grouping_gives_its_classic_result(
    engine: Engine, tmp_path: Path, unit: str, fuse: str, links: str
) -> None:
    chosen = ("--set", f"topology.fuse={fuse}", "--set", f"transport.local={links}")
    engine.ok("submit", str(TOPOLOGIES / "classic_groupings.py"), str(tmp_path), unit, *chosen)

    expected = {**EXPECTED_WORDS, **EXPECTED_DISTINCT}
    wait_until(lambda: results(tmp_path) == expected, 30, "the results", lambda: str(results(tmp_path)))

    def emitted() -> int:
        return sum(i["emitted"] for i in engine.status("Classic")["instances"] if i["component"] == "many")

    wait_until(lambda: emitted() == 400, 10, "the count of what was emitted")
    assert results(tmp_path) == expected, "everything had come: nothing more may come"
    engine.ok("kill", "Classic")
    assert engine.leftovers() == []
