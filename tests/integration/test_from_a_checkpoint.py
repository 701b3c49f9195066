"""A topology is saved on demand, killed, and goes on with other parallelism as if nothing had happened."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.running.engine import TOPOLOGIES, Engine, wait_until

NAME = "Resumed"
NUMBERS = 100_000


def counts(folder: Path) -> dict[str, int]:
    """Of all counters together; no key may be in two of them."""
    found: dict[str, int] = {}
    for path in folder.glob("count-*[0-9]"):
        own = json.loads(path.read_text())
        assert not set(found) & set(own)
        found.update(own)
    return found


@pytest.mark.cluster
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("before", "after"), [("none", "container"), ("container", "none")])
def test_counts_go_on_exactly_with_another_parallelism(
    engine: Engine, tmp_path: Path, before: str, after: str
) -> None:
    """In processes of their own or in one: a checkpoint is the same."""
    file, first, second = str(TOPOLOGIES / "resumed.py"), tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
    engine.ok("submit", file, str(NUMBERS), "2", str(first), "--set", f"topology.fuse={before}")
    wait_until(lambda: sum(counts(first).values()) > 5_000, 60, "some are counted", engine.log_tails)
    (taken,) = json.loads(engine.ok("checkpoints", NAME, "--take", "-o", "json"))
    assert (taken["checkpoint"], taken["tasks"], taken["topology"]) == ("Resumed@1", 3, "running")
    assert "Resumed@1: whole" in engine.ok("checkpoints", NAME, "--verify")
    assert "1 checkpoint (" in engine.ok("kill", NAME, "--keep-checkpoints")
    assert engine.leftovers() == []

    assert "begins with checkpoint Resumed@1" in engine.ok(
        "submit", file, str(NUMBERS), "3", str(second), "--from", NAME, "--dry-run"
    )
    fused = ("--set", f"topology.fuse={after}")
    engine.ok("submit", file, str(NUMBERS), "3", str(second), "--from", NAME, *fused)
    wait_until(lambda: sum(counts(second).values()) >= NUMBERS, 120, "all are counted", engine.log_tails)
    assert counts(second) == {str(digits): NUMBERS // 100 for digits in range(100)}
    assert len(list(second.glob("count-*[0-9]"))) == 3

    assert ", and its 1 checkpoint (" in engine.ok("kill", NAME)
    engine.ok("checkpoints", NAME, "--delete")
    assert engine.leftovers() == []
    assert list((engine.home / "checkpoints").rglob("*")) == [engine.home / "checkpoints/.unfinished"]
