"""A split that is silent: it is named and waited for, or left out where the pipeline says so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.running.engine import TOPOLOGIES, Engine, wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(180)]

NAME = "quiet-splits"
NAMED = re.compile(
    r"waiting\.count +unknown +- +waiting\.read\[0\] split silent: silent \d+s \(try idle='30s'\)"
)
#: of a window that gets no record at all, because all are filtered out
GOES_ON = re.compile(r"idle\.none +\d\d:\d\d:\d\d ")


def seconds(folder: Path) -> list[int]:
    """The windows that have closed."""
    return sorted(int(line) for file in folder.glob("*.txt") for line in file.read_text().splitlines())


def test_status_names_a_silent_split_and_with_idle_windows_close(engine: Engine, tmp_path: Path) -> None:
    engine.ok(
        "submit", str(TOPOLOGIES / "quiet_splits.py"), str(tmp_path),
        "--set", "topology.fuse=container", "--set", "checkpoint.interval=300ms",
    )  # fmt: skip

    def status() -> str:
        return engine.ok("status", NAME)

    wait_until(lambda: NAMED.search(status()) is not None, 60, "the silent split is named", status)
    wait_until(lambda: "step 'idle.timed' failed for" in status(), 60, "a record of the year 2100", status)
    before = len(seconds(tmp_path / "idle"))
    wait_until(lambda: len(seconds(tmp_path / "idle")) > before + 2, 60, "windows close", status)
    assert GOES_ON.search(status()), status()
    closed = seconds(tmp_path / "idle")
    assert len(set(closed)) == len(closed)
    assert max(closed) < 4_000_000_000, "of the year 2100"
    assert seconds(tmp_path / "waiting") == []
    engine.ok("kill", NAME)
    assert engine.leftovers() == []
