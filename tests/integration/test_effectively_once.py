"""Whoever is killed, every number is counted once and written once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.running.engine import TOPOLOGIES, Engine, wait_until
from support.running.watching import Watching

from heronpy.kernel.status import CheckpointStatus

NAME = "Exact"
NUMBERS = 60_000
#: seconds of rest after twenty: more of them than somebody is killed in
REST = 0.02


def counts(folder: Path) -> dict[str, int]:
    found: dict[str, int] = {}
    for path in folder.glob("count-*[0-9]"):
        found.update(json.loads(path.read_text()))
    return found


def written(folder: Path) -> list[int]:
    """All that was committed, sorted."""
    return sorted(int(line) for path in folder.glob("lines-*") for line in path.read_text().split())


def checkpoints(watching: Watching) -> CheckpointStatus:
    """As the master tells them; while there is none, as if there were no run yet."""
    return watching.status().checkpoints or CheckpointStatus()


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
        str(REST),
        "--set",
        "checkpoint.interval=500ms",
    )
    wait_until(lambda: written(folder) != [], 60, "a checkpoint is complete", engine.log_tails)
    with Watching(engine, NAME) as watching:
        for number, role in enumerate(("count[0]", "numbers[0]", "lines[0]", "stream-manager", "relay[1]")):
            run = checkpoints(watching).run
            watching.kill(role)

            def goes_on(before: int = run) -> bool:
                return checkpoints(watching).run > before and watching.status().state == "RUNNING"

            wait_until(goes_on, 60, f"another run after the end of {role}", watching.detail)
            if number % 2 == 0:  # every other run has a checkpoint of its own before it ends
                newest = watching.newest()

                def saved(before: int = newest) -> bool:
                    return watching.newest() > before

                wait_until(saved, 60, f"another checkpoint after the end of {role}", watching.detail)
            spoken = "the stream manager of container" if role == "stream-manager" else role
            because = checkpoints(watching).restored_because
            assert checkpoints(watching).run == run + 1, because
            assert because.startswith(spoken), because
            assert because.endswith(" ended: signal 9 (killed)"), because
    assert 0 < len(written(folder)) < NUMBERS
    (folder / "hurry").touch()
    wait_until(lambda: len(written(folder)) >= NUMBERS, 150, "all are written", engine.log_tails)
    assert written(folder) == list(range(NUMBERS))
    shares = {str(digits): NUMBERS // 100 for digits in range(100)}
    wait_until(lambda: counts(folder) == shares, 10, "all are counted", lambda: str(counts(folder)))
    last = engine.status(NAME)["checkpoints"]
    assert last["run"] == 6, last["restored_because"]
    engine.ok("kill", NAME)
    assert engine.leftovers() == []
