"""Whoever is killed, every number is counted once and written once."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import psutil
import pytest
from support.engine import TOPOLOGIES, Engine, wait_until

NAME = "Exact"
NUMBERS = 150_000


def counts(folder: Path) -> dict[str, int]:
    found: dict[str, int] = {}
    for path in folder.glob("count-*[0-9]"):
        found.update(json.loads(path.read_text()))
    return found


def written(folder: Path) -> list[int]:
    """All that was committed, sorted."""
    return sorted(int(line) for path in folder.glob("lines-*") for line in path.read_text().split())


def named(engine: Engine, role: str) -> psutil.Process | None:
    for process in engine.processes():
        if process.name().startswith(role):
            return process
    return None


@pytest.mark.cluster
@pytest.mark.timeout(300)
def test_every_number_is_counted_and_written_once_whoever_is_killed(engine: Engine, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    engine.ok(
        "submit",
        str(TOPOLOGIES / "exact.py"),
        str(NUMBERS),
        str(folder),
        "--set",
        "checkpoint.interval=500ms",
    )
    wait_until(lambda: written(folder) != [], 60, "a checkpoint is complete", engine.log_tails)
    for role in ("count[0]", "numbers[0]", "lines[0]", "stream-manager", "relay[1]"):
        run = engine.status(NAME)["checkpoints"]["run"]
        process = named(engine, role)
        assert process is not None, role
        os.kill(process.pid, signal.SIGKILL)

        def goes_on(before: int = run) -> bool:
            status = engine.status(NAME)
            return bool(status["checkpoints"]["run"] > before and status["state"] == "RUNNING")

        wait_until(goes_on, 60, f"another run after the end of {role}", engine.log_tails)
        time.sleep(0.7)  # not always at the same place: some have a checkpoint meanwhile
        checkpoints = engine.status(NAME)["checkpoints"]
        spoken = "the stream manager of container" if role == "stream-manager" else role
        because = checkpoints["restored_because"]
        assert checkpoints["run"] == run + 1, because
        assert because.startswith(spoken), because
        assert because.endswith(" ended: signal 9 (killed)"), because
    assert 0 < len(written(folder)) < NUMBERS
    wait_until(lambda: len(written(folder)) >= NUMBERS, 150, "all are written", engine.log_tails)
    assert written(folder) == list(range(NUMBERS))
    shares = {str(digits): NUMBERS // 100 for digits in range(100)}
    wait_until(lambda: counts(folder) == shares, 10, "all are counted", lambda: str(counts(folder)))
    checkpoints = engine.status(NAME)["checkpoints"]
    assert checkpoints["run"] == 6, checkpoints["restored_because"]
    engine.ok("kill", NAME)
    assert engine.leftovers() == []
