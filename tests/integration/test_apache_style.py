"""Topologies in the styles of Apache Heron's own examples, several in one file, through its import paths."""

from __future__ import annotations

import collections
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from support.running.engine import TOPOLOGIES, Engine, wait_until
from support.running.live import saved_state

HALF = {"seen": 30, "acked": 15, "failed": 15}
EACH = {"red": 10, "green": 10, "blue": 10}
TWICE = {"red": 20, "green": 20, "blue": 20}

#: what the components of each topology write down in the end, one entry per task that got anything
EXPECTED = {
    "Streams.colours": TWICE,
    "Streams.streams": {"default": 60, "notes": 6},
    "Chosen.by_instance": EACH,
    "Chosen.by_path": EACH,
    "Hooked.half": HALF,
    "Named.count": TWICE,
    "Named.half": {"seen": 60, "acked": 30, "failed": 30},
    "Named.slides": {"largest": 60},
    "Named.tumbles": {"total": 60},
}


def written(folder: Path, name: str) -> dict[int, dict[str, int]]:
    """Task → what it wrote down."""
    files = folder.glob(f"{name}-*.json")
    return {int(path.stem.rpartition("-")[2]): json.loads(path.read_text()) for path in files}


def totals(folder: Path) -> dict[str, dict[str, int]]:
    """What each component wrote down, its tasks together; a colour is counted by one task only."""
    return {
        name: {key: count for found in written(folder, name).values() for key, count in found.items()}
        for name in EXPECTED
    }


def logs_of(engine: Engine) -> str:
    return "\n".join(log.read_text() for log in engine.home.glob("topologies/*/logs/*.log"))


@pytest.mark.cluster
def test_every_style_runs_unchanged(engine: Engine, tmp_path: Path) -> None:
    engine.ok("submit", str(TOPOLOGIES / "apache_style.py"), str(tmp_path), "Named", timeout=120)
    names = ["Chosen", "Hooked", "Named", "Streams"]
    listed: list[dict[str, Any]] = json.loads(engine.ok("list", "-o", "json"))
    assert sorted((row["name"], row["state"]) for row in listed) == [(name, "RUNNING") for name in names]

    wait_until(lambda: totals(tmp_path) == EXPECTED, 30, "the results", lambda: str(totals(tmp_path)))
    for chosen, last in (("Chosen.by_instance", 2), ("Chosen.by_path", 1)):
        tasks = written(tmp_path, chosen)
        assert [bool(tasks[task]) for task in sorted(tasks)].index(True) == last
    logs = logs_of(engine)
    assert "Traceback" not in logs
    assert "spout:default goes to the last of" in logs

    engine.ok("kill", "--all")
    assert list(written(tmp_path, "Hooked.spout.hook").values()) == [
        {"prepare": 1, "emit on default": 30, "emit on notes": 3, "spout_ack": 30}
    ]
    assert list(written(tmp_path, "Hooked.half.hook").values()) == [
        {"prepare": 1, "bolt_execute": 30, "bolt_ack": 15, "bolt_fail": 15}
    ]
    assert engine.leftovers() == []


def remembered(engine: Engine, name: str) -> dict[str, int]:
    """Take a checkpoint; what was counted in it, which is what was emitted up to it."""
    engine.ok("checkpoints", name, "--take")
    saved = saved_state(engine, name)
    colours = ("red", "green", "blue", "white", "black")
    emitted = collections.Counter(
        colours[place % len(colours)] for sent in saved["colours"].values() for place in range(sent)
    )
    assert len(saved["colours"]) == 2
    assert saved["tally"] == emitted
    return emitted


@pytest.mark.cluster
def test_what_a_stateful_component_puts_aside_before_a_checkpoint_it_gets_back(engine: Engine) -> None:
    engine.ok("submit", str(TOPOLOGIES / "remembering.py"), "Remembering", timeout=120)
    before = remembered(engine, "Remembering")
    victim = next(row for row in engine.status("Remembering")["instances"] if row["component"] == "tally")
    os.kill(victim["pid"], signal.SIGKILL)
    wait_until(
        lambda: engine.status("Remembering")["checkpoints"]["run"] == 2, 60, "a restore", engine.log_tails
    )

    def all_have_grown() -> bool:
        after = remembered(engine, "Remembering")
        assert after.keys() >= before.keys(), "the first may have been taken before all colours had come"
        return all(after[colour] > before[colour] for colour in before)

    wait_until(all_have_grown, 60, "more of each colour than before the restore", engine.log_tails)
    engine.ok("kill", "Remembering")
    assert engine.leftovers() == []


def test_a_script_that_misses_its_arguments_says_so_itself(engine: Engine, tmp_path: Path) -> None:
    told = engine.fails("submit", str(TOPOLOGIES / "apache_style.py"), str(tmp_path))
    assert "which folder, and what name?" in told
    assert "called sys.exit(1)" in told
