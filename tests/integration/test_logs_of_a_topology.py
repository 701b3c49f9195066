"""Logs: the Topology Master tells what happened, every process is found by its name, and following ends."""

from __future__ import annotations

import re
from pathlib import Path

import psutil
import pytest
from support.running.engine import TOPOLOGIES, Engine, wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]

NAME = "Talkative"


def test_the_master_tells_its_story(engine: Engine) -> None:
    engine.ok("submit", str(TOPOLOGIES / "talkative.py"), "--set", "checkpoint.interval=1s")
    wait_until(lambda: engine.status(NAME)["checkpoints"]["id"] > 0, 30, "a checkpoint", engine.log_tails)
    (talk,) = [one for one in engine.status(NAME)["instances"] if one["component"] == "talk"]
    psutil.Process(talk["pid"]).kill()
    wait_until(lambda: engine.status(NAME)["checkpoints"]["restores"] == 1, 30, "restored", engine.log_tails)
    engine.ok("update", NAME, "talk=2")
    told = engine.ok("logs", NAME, "master", "-n", "1000")
    story = [
        r"Talkative, submitted by .* at .*: plan 1, 2 tasks in \d containers?, effectively_once, packing",
        r"run 1 begins from the beginning",
        r"\] RUNNING$",
        r"run 2 begins from checkpoint \d+: talk\[0\]",
        r"update to plan 2: prepare \(talk=2; asked for by .+\)",
        r"plan 2 is in force",
    ]
    for line in story:
        found = re.search(line, told, re.MULTILINE)
        assert found, f"{line} is not in\n{told}"
        told = told[found.end() :]

    for who in ("scheduler", "executor", "executor-1", "stream-manager", "metrics-manager", "talk[1]"):
        engine.ok("logs", NAME, who)
    engine.ok("kill", NAME)
    assert engine.leftovers() == []


def test_following_ends_with_its_reader(engine: Engine) -> None:
    engine.ok("submit", str(TOPOLOGIES / "trickle.py"), "steady")
    following = engine.start("logs", "steady", "master", "-f", "-n", "1")
    assert following.stdout is not None
    assert following.stderr is not None
    assert following.stdout.readline().startswith("topology-master | ")
    following.stdout.close()
    assert following.wait(20) == 0, "nothing more is written, and still it ends"
    assert following.stderr.read() == ""
    following.stderr.close()
    engine.ok("kill", "steady")


def test_logs_of_a_start_that_failed_go_with_all_topologies(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "broken.py"
    text = (TOPOLOGIES / "talkative.py").read_text()
    file.write_text(
        text.replace("class Talk(Bolt):", "class Talk(Bolt):\n    def initialize(self, *_): 1 / 0")
    )
    engine.fails("submit", str(file))
    assert "ZeroDivisionError" in engine.ok("logs", NAME, "talk")
    assert engine.ok("kill", "--all") == f"{NAME} is gone\n"
    assert engine.leftovers() == []
