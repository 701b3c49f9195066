"""Columns from spout to table in real processes: exact, whoever is killed and however many count."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.running.engine import TOPOLOGIES, Engine, wait_until
from support.running.watching import Watching

NAME = "ColumnLedger"
KEYS = 997


def ledger(folder: Path) -> dict[str, list[int]]:
    """Key → how many numbers it has had, and their sum."""
    found: dict[str, list[int]] = {}
    for path in folder.glob("ledger-*"):
        entries = json.loads(path.read_text())
        assert not entries.keys() & found.keys(), "a key has one owner"
        found.update(entries)
    return found


@pytest.mark.cluster
@pytest.mark.timeout(240)
def test_columns_are_counted_once_through_a_kill_and_a_rescaling(engine: Engine, tmp_path: Path) -> None:
    engine.ok(
        "submit", str(TOPOLOGIES / "column_ledger.py"), str(tmp_path), "--set", "checkpoint.interval=500ms"
    )
    with Watching(engine, NAME) as watching:
        wait_until(lambda: watching.newest() > 0, 60, "a checkpoint", watching.detail)
        watching.kill("ledger[0]")
        newest = watching.newest()
        wait_until(lambda: watching.newest() > newest + 1, 60, "another checkpoint", watching.detail)
        engine.ok("update", NAME, "ledger=3")
        newest = watching.newest()
        wait_until(lambda: watching.newest() > newest, 60, "a checkpoint of the new plan", watching.detail)
        (tmp_path / "enough").touch()
        wait_until(lambda: watching.status().state == "FINISHED", 90, "it is FINISHED", watching.detail)
    end = int((tmp_path / "end").read_text())
    shares = [range(key, end, KEYS) for key in range(KEYS)]
    assert ledger(tmp_path) == {
        f"key {key}": [2 * len(numbers), 2 * sum(numbers)] for key, numbers in enumerate(shares)
    }
    assert len(list(tmp_path.glob("ledger-*"))) == 3
    engine.ok("kill", NAME)
    assert engine.leftovers() == []
