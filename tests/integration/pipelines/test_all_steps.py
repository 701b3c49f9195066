"""From a spout to a bolt through every kind of step, exact whichever task dies."""

from __future__ import annotations

import random
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest
from support.faults.fire import SEED
from support.running.engine import TOPOLOGIES, Engine, wait_until
from support.running.watching import Watching

NAME = "all-steps"
TOTAL = 6000
KEYS = [None, b"bytes", ("a", 1), Decimal("1.50"), True, -1]

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]


def expected() -> Counter[str]:
    each = TOTAL // len(KEYS)
    lines = Counter(f"count {key!r} {seen}" for key in KEYS for seen in range(1, each + 1))
    lines.update(f"rare {seen}" for _ in KEYS for seen in range(100, each + 1, 100))
    lines.update(f"one {number}" for number in range(1, TOTAL, 4))
    lines.update(["joined zero 1500 zero", "joined one None one", "joined two 1500 two", f"all {TOTAL}"])
    return lines


def test_every_step_is_exact_whichever_task_dies(engine: Engine, tmp_path: Path) -> None:
    print(f"seed {SEED}")
    dice = random.Random(f"steps {SEED}")
    folder, brake = tmp_path / "out", tmp_path / "brake"
    brake.touch()
    engine.ok(
        "submit", str(TOPOLOGIES / "all_steps.py"), str(folder), str(brake),
        "--set", "checkpoint.interval=300ms", "--set", "container.restart_reset=100ms",
    )  # fmt: skip
    with Watching(engine, NAME) as watching:
        for role in dice.sample(["numbers[", "look-up[", "counts[", "split[", "by-name", "bolt["], 3):
            begun = watching.checkpoints().started

            def is_saved(before: int = begun) -> bool:
                return watching.newest() > before

            wait_until(is_saved, 60, "a checkpoint", watching.detail)
            run = watching.checkpoints().run
            watching.kill(role)

        def has_gone_back() -> bool:
            return watching.checkpoints().run > run and watching.status().state == "RUNNING"

        # an update that meets a process which is dying is rolled back
        wait_until(has_gone_back, 60, "it has gone back and runs", watching.detail)
        engine.ok("update", NAME, "look-up=3", "counts=1", "--yes")
        brake.unlink()
        wait_until(lambda: watching.status().state == "FINISHED", 90, "it is FINISHED", watching.detail)
        assert watching.checkpoints().run > 1, "no kill made the pipeline go back"
    found = Counter(line for file in folder.glob("*.txt") for line in file.read_text().splitlines())
    assert found == expected()
    engine.ok("kill", NAME)
    assert engine.leftovers() == []
