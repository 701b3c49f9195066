"""A tuple that kills its task again and again: named, and then kept aside or stood still before."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support.running.engine import TOPOLOGIES, Engine, wait_until

NUMBERS, DEADLY = 200, 70
NAME = "Poisoned"
#: where tasks share a process, the one to blame takes its neighbours along
FUSE = ["none", "container"]


def fuse_set(fuse: str) -> tuple[str, str]:
    return ("--set", f"topology.fuse={fuse}")


def submit(engine: Engine, folder: Path, mode: str, *settings: str) -> None:
    numbers = (str(NUMBERS), str(DEADLY), str(folder))
    mode_set = ("--set", f"topology.reliability.mode={mode}", "--set", "checkpoint.interval=300ms")
    engine.ok("submit", str(TOPOLOGIES / "poisoned.py"), *numbers, *mode_set, *settings, "--no-wait")


def deaths(folder: Path) -> int:
    path = folder / "deaths"
    return len(path.read_text()) if path.exists() else 0


def seen(folder: Path) -> list[int]:
    """How many different numbers were added up, and in how many calls, as the last state says."""
    path = folder / "seen"
    return [int(word) for word in path.read_text().split()] if path.exists() else [0, 0]


@pytest.mark.cluster
@pytest.mark.timeout(120)
@pytest.mark.parametrize("fuse", FUSE)
def test_a_deadly_tuple_is_kept_aside_and_all_others_count_once(
    engine: Engine, tmp_path: Path, fuse: str
) -> None:
    submit(engine, tmp_path, "EFFECTIVELY_ONCE", "--set", "topology.poison=skip", *fuse_set(fuse))
    wait_until(lambda: seen(tmp_path) == [NUMBERS - 1] * 2, 60, "all others", engine.log_tails)
    assert deaths(tmp_path) == 3
    what = f"({DEADLY},) of stream 'default' from numbers (task 1), 3 deaths"

    def told() -> bool:
        (sums,) = [one for one in engine.status(NAME)["instances"] if one["component"] == "sums"]
        return bool(sums["poisoned"] >= 1 and sums["poison"] == what and sums["state"] == "running")

    wait_until(told, 10, "status says so", lambda: str(engine.status(NAME)))
    assert "tuples aside that kill it (heronpy logs --poison), the last " + what in engine.ok("status", NAME)
    lines = engine.ok("logs", NAME, "sums", "--poison").splitlines()
    kept = json.loads(lines[0])
    assert {key: kept[key] for key in ("component", "task", "stream", "deaths")} == {
        "component": "numbers", "task": 1, "stream": "default", "deaths": 3,
    }  # fmt: skip
    assert msgspec.msgpack.decode(base64.b64decode(kept["data"])) == [[DEADLY]]
    engine.ok("kill", NAME)
    assert engine.leftovers() == []


def processed(folder: Path) -> set[int]:
    """Every number that was added up, also by a task that died later."""
    path = folder / "processed"
    return {int(line) for line in path.read_text().split()} if path.exists() else set()


@pytest.mark.cluster
@pytest.mark.timeout(120)
@pytest.mark.parametrize("fuse", FUSE)
def test_at_least_once_a_deadly_tuple_is_acked_and_all_others_are_processed(
    engine: Engine, tmp_path: Path, fuse: str
) -> None:
    submit(engine, tmp_path, "ATLEAST_ONCE", "--set", "topology.poison=skip", *fuse_set(fuse))
    others = {*range(NUMBERS)} - {DEADLY}

    def status_of(component: str) -> dict[str, Any]:
        (found,) = [one for one in engine.status(NAME)["instances"] if one["component"] == component]
        return dict(found)

    wait_until(lambda: processed(tmp_path) == others, 90, "all others", engine.log_tails)
    what = f"({DEADLY},) of stream 'default' from numbers (task 1), 3 deaths"

    def told() -> bool:
        sums = status_of("sums")
        return (sums["poison"], sums["state"]) == (what, "running")

    # where tasks share a process, the numbers before it come again with each death
    wait_until(told, 30, "status says so", lambda: str(engine.status(NAME)))
    # neither it nor anything else comes again: its tree is over
    wait_until(lambda: status_of("numbers")["pending"] == 0, 30, "all are acked", engine.log_tails)
    assert (deaths(tmp_path), processed(tmp_path)) == (3, others)
    lines = engine.ok("logs", NAME, "sums", "--poison").splitlines()
    kept = [msgspec.msgpack.decode(base64.b64decode(json.loads(line)["data"])) for line in lines]
    assert kept == [[[DEADLY]]] * len(lines)
    assert lines
    engine.ok("kill", NAME)
    assert engine.leftovers() == []


@pytest.mark.cluster
@pytest.mark.timeout(120)
def test_the_topology_stands_still_before_a_deadly_tuple(engine: Engine, tmp_path: Path) -> None:
    submit(engine, tmp_path, "ATLEAST_ONCE", "--set", "topology.poison.deaths=2")
    what = f"poison tuple ({DEADLY},) of stream 'default' from numbers (task 1), 2 deaths"

    def stopped() -> bool:
        status = engine.status(NAME)
        return bool(status["reason"] == f"sums[0] in container 1 is stopped: {what}")

    wait_until(stopped, 60, "status names the tuple", lambda: str(engine.status(NAME)["reason"]))
    (sums,) = [one for one in engine.status(NAME)["instances"] if one["component"] == "sums"]
    assert (sums["state"], sums["restarts"], deaths(tmp_path)) == ("stopped", 2, 2)
    assert engine.fails("logs", NAME, "--poison") == f"error: topology {NAME!r} has kept no tuple aside\n"
    engine.ok("kill", NAME)
    assert engine.leftovers() == []
