"""Batches behind rows and rows behind batches: the ledger is as exact as the guarantee, with a kill."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from support.running.engine import TOPOLOGIES, Engine, wait_until
from support.running.watching import Watching

NAME = "Batched"


def ledger(folder: Path) -> Counter[int]:
    """Number → how often it was counted."""
    found: Counter[int] = Counter()
    for path in folder.glob("ledger-*"):
        found.update({int(number): count for number, count in json.loads(path.read_text()).items()})
    return found


@pytest.mark.cluster
@pytest.mark.timeout(180)
@pytest.mark.parametrize("mode", ["ATMOST_ONCE", "ATLEAST_ONCE", "EFFECTIVELY_ONCE"])
def test_batches_and_rows_are_counted_as_often_as_promised(engine: Engine, tmp_path: Path, mode: str) -> None:
    engine.ok(
        "submit", str(TOPOLOGIES / "batched.py"), str(tmp_path), mode, "--set", "checkpoint.interval=500ms"
    )

    def emitted(component: str) -> int:
        instances = engine.status(NAME)["instances"]
        return sum(int(one["emitted"]) for one in instances if one["component"] == component)

    with Watching(engine, NAME) as watching:
        wait_until(lambda: min(emitted("rows"), emitted("batches")) > 1000, 60, "a flow", watching.detail)
        if mode == "EFFECTIVELY_ONCE":
            wait_until(lambda: watching.newest() > 0, 60, "a checkpoint", watching.detail)
        watching.kill("rows[0]")
        watching.kill("batches[1]")
        (tmp_path / "killed").touch()
        wait_until(lambda: watching.status().state == "FINISHED", 90, "it is FINISHED", watching.detail)
    ends = [int((tmp_path / f"end-{first}").read_text()) for first in (0, 1)]
    sent = {*range(0, ends[0], 2), *range(1, ends[1], 2)}
    counted = ledger(tmp_path)
    assert set(counted) <= sent
    if mode != "ATMOST_ONCE":
        assert set(counted) == sent
    if mode != "ATLEAST_ONCE":
        assert set(counted.values()) == {1}
    engine.ok("kill", NAME)
    assert engine.leftovers() == []
