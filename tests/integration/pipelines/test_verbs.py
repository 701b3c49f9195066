"""To every verb a pipeline is what a topology is; its new code goes on with the state of the old."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from support.running.engine import TOPOLOGIES, Engine, wait_until
from support.running.watching import Watching

NAME = "evolving"
NUMBERS = 20_000

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]


def expected() -> Counter[str]:
    lines: Counter[str] = Counter()
    counts: Counter[int] = Counter()
    sums: Counter[int] = Counter()
    for number in range(NUMBERS):
        rest = number % 7
        counts[rest] += 1
        sums[rest] += number
        lines.update([f"seen {rest} {counts[rest]}", f"sum {rest} {sums[rest]}"])
    return lines


def test_verbs_see_stages_and_new_code_goes_on_with_old_state(engine: Engine, tmp_path: Path) -> None:
    source, folder, brake = tmp_path / "numbers.txt", tmp_path / "out", tmp_path / "brake"
    source.write_text("".join(f"{number}\n" for number in range(NUMBERS)))
    brake.touch()
    arguments = (str(source), str(folder), str(brake), "--set", "checkpoint.interval=300ms")
    first = TOPOLOGIES / "evolving.py"

    assert "evolving runs: 4 instances in 1 container" in engine.ok("submit", str(first), *arguments)
    with Watching(engine, NAME) as watching:
        (listed,) = json.loads(engine.ok("list", "-o", "json"))
        assert (listed["name"], listed["state"]) == (NAME, "RUNNING")
        assert {one.component for one in watching.status().instances} == {"lines", "seen", "out"}
        assert "seen[1]" in engine.ok("plan", NAME)
        assert "seen" in engine.ok("top", NAME, "--once")
        assert "paused" in engine.ok("deactivate", NAME)
        engine.ok("activate", NAME)
        engine.ok("update", NAME, "seen=3", "--yes")
        engine.ok("restart", NAME, "1")
        assert "runs seen[2]" in engine.ok("logs", NAME, "seen[2]")
        wait_until(lambda: watching.newest() > 0, 60, "a checkpoint", watching.detail)
        engine.ok("checkpoints", NAME, "--take")
        assert watching.status().state == "RUNNING"
    assert "kept" in engine.ok("kill", NAME, "--keep-checkpoints")

    code = first.read_text()
    renamed = tmp_path / "renamed.py"
    renamed.write_text(code.replace('name="sum"', 'name="sums"'))
    assert "has state of step 'sum', which the pipeline does not have; did you mean 'sums'?" in engine.fails(
        "submit", str(renamed), *arguments, "--from", NAME
    )
    second = tmp_path / "second.py"
    second.write_text(
        code.replace(
            "    count: int = 0\n", "    rests: list[int] = field(default_factory=list)\n    count: int = 0\n"
        )
        .replace("import dataclass\n", "import dataclass, field\n")
        .replace("    state.count += 1\n", "    state.count += 1\n    state.rests.append(number)\n")
    )
    brake.unlink()
    engine.ok("submit", str(second), *arguments, "--from", NAME)
    with Watching(engine, NAME) as watching:
        wait_until(lambda: watching.status().state == "FINISHED", 90, "it is FINISHED", watching.detail)
    found = Counter(line for file in folder.glob("*.txt") for line in file.read_text().splitlines())
    assert found == expected()
    assert f"{NAME}  FINISHED" in engine.ok("status", NAME)
    engine.ok("kill", NAME)
    assert engine.leftovers() == []
