"""A bolt whose state its code does not show is scaled, and goes on elsewhere: nothing is lost unsaid."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.running.engine import TOPOLOGIES, Engine, wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

FILE = str(TOPOLOGIES / "kept.py")
LOST = "state of count[1] (1 entry) belongs to no key and ends with its task"


def counted(folder: Path) -> int:
    return sum(int(path.read_text()) for path in folder.glob("count-*[0-9]"))


def half_is_counted(engine: Engine, folder: Path, grouping: str) -> None:
    folder.mkdir()
    engine.ok("submit", FILE, grouping, "2", str(folder), "--set", "checkpoint.interval=1s")
    wait_until(lambda: counted(folder) == 200, 60, "half is counted", engine.log_tails)
    wait_until(lambda: all(keeps(engine, f"count[{index}]", grouping) for index in (0, 1)), 30, "both say so")


def keeps(engine: Engine, label: str, grouping: str) -> int:
    """Entries of a task, as it says itself."""
    found = {f"{one['component']}[{one['index']}]": one for one in engine.status("Kept")["instances"]}
    held: dict[str, int] = found[label]["held"]
    return held["keyed" if grouping == "fields" else "own"]


def test_by_shuffle_a_task_is_not_taken_away_with_what_it_counted(engine: Engine, tmp_path: Path) -> None:
    folder = tmp_path / "counts"
    half_is_counted(engine, folder, "shuffle")
    said = engine.fails("update", "Kept", "count=1")
    assert said == f"error: {LOST} (try: --dry-run to see what would change, or --yes to do it)\n"
    assert f"needs --yes: {LOST}" in engine.ok("update", "Kept", "count=1", "--dry-run")
    engine.ok("restart", "Kept", "1")
    fewer = ("submit", FILE, "shuffle", "1", str(folder), "--name", "Fewer", "--from", "Kept")
    said = engine.fails(*fewer)
    assert said.startswith("error: checkpoint Kept@")
    hint = "(try: set parallelism 2, or pass --allow-dropped"
    assert f" has 2 instances of 'count' and not 1: {LOST} {hint}" in said
    (folder / "more").touch()
    wait_until(lambda: counted(folder) == 400, 60, "all are counted", engine.log_tails)

    engine.ok("update", "Kept", "count=3")
    assert f"done all the same: {LOST}" in engine.ok("update", "Kept", "count=1", "--yes")
    engine.ok("kill", "Kept")


def test_by_key_it_moves_without_a_question(engine: Engine, tmp_path: Path) -> None:
    folder = tmp_path / "counts"
    half_is_counted(engine, folder, "fields")
    engine.ok("update", "Kept", "count=1")
    for path in folder.glob("count-*"):
        path.unlink()
    (folder / "more").touch()
    wait_until(lambda: counted(folder) == 400, 60, "one has counted all", engine.log_tails)
    engine.ok("kill", "Kept")
