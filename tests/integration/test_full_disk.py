"""A home of 6 MB: logs do not fill it; when something else does, the topology runs on and can be ended."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.running.engine import TOPOLOGIES, Engine, wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]

NAME = "Talkative"
FILE = str(TOPOLOGIES / "talkative.py")
SIZE = 6 * 1024**2

#: seconds of silence after which a process would be replaced
SILENCE = 3
SETTINGS = ("--set", "checkpoint.interval=500ms", "--set", f"container.silence={SILENCE}s")


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "home"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=700", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a file system needs root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def free(home: Path) -> int:
    disk = os.statvfs(home)
    return disk.f_bavail * disk.f_frsize


def fill(home: Path) -> Path:
    """Until not a single block is left."""
    filler = home / "filler"
    with contextlib.suppress(OSError), filler.open("ab", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)
    return filler


def printed(status: dict[str, Any]) -> int:
    """Bytes that the bolt has printed by now, at least."""
    return executed(status) * 20_000


def executed(status: dict[str, Any]) -> int:
    return sum(int(one["executed"]) for one in status["instances"])


def pids(status: dict[str, Any]) -> list[int]:
    return [one["pid"] for one in status["instances"]]


def test_a_bolt_that_prints_20_kb_a_tuple(home: Path, engine: Engine) -> None:
    engine.ok("submit", FILE, *SETTINGS)
    first = status = engine.status(NAME)
    while printed(status) < 10 * SIZE:
        status = engine.status(NAME)
        assert status["state"] == "RUNNING", status["reason"]
        assert NAME in engine.ok("list")
        assert free(home) > SIZE // 40
    assert pids(status) == pids(first)
    assert status["checkpoints"]["id"] > first["checkpoints"]["id"]
    assert engine.ok("logs", NAME, "talk", "-n", "1").endswith("x" * 20_000 + "\n")
    engine.ok("kill", NAME)
    assert engine.leftovers() == []


def test_a_disk_that_something_else_fills(home: Path, engine: Engine) -> None:
    engine.ok("submit", FILE, "silent", *SETTINGS)
    wait_until(lambda: engine.status(NAME)["checkpoints"]["id"] > 0, 30, "a checkpoint", engine.log_tails)
    before = engine.status(NAME)
    filler = fill(home)

    def says_why() -> bool:
        fill(home)
        return "was given up: " in (told := engine.ok("status", NAME)) and "the disk is full" in told

    wait_until(says_why, 30, "status says that it cannot save", lambda: engine.ok("status", NAME))
    during, until = before, time.monotonic() + 3 * SILENCE
    while time.monotonic() < until:
        fill(home)
        during = engine.status(NAME)
        assert pids(during) == pids(before)
        assert NAME in engine.ok("list")
    assert executed(during) > executed(before)
    filler.unlink()
    goes_on = before["checkpoints"]["id"] + 2
    wait_until(
        lambda: engine.status(NAME)["checkpoints"]["id"] > goes_on, 30, "it is saved again", engine.log_tails
    )
    assert pids(engine.status(NAME)) == pids(before)
    fill(home)
    engine.ok("kill", NAME)
    assert engine.leftovers() == []
