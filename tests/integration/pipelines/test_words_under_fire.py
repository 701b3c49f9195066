"""The word count of a file on the engine is exact, whichever process dies and however it is scaled."""

from __future__ import annotations

import contextlib
import os
import random
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest
from support.faults.fire import SEED
from support.running.engine import TOPOLOGIES, Engine, wait_until
from support.running.watching import Watching

NAME = "file-words"
KILLS = int(os.environ.get("CHAOS_KILLS", "3"))
LINES = int(os.environ.get("CHAOS_LINES", "100000"))
ROLES = ["lines", "count", "files", "printed", "stream-manager", "topology-master", "executor"]

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240 + 40 * KILLS)]


def write_lines(file: Path, dice: random.Random) -> Counter[str]:
    """A text; returns the lines of a count that is exact."""
    counts: Counter[str] = Counter()
    vocabulary = [f"Word{number}" for number in range(2000)]
    with file.open("w") as text:
        for _ in range(LINES):
            words = dice.choices(vocabulary, k=5)
            text.write(" ".join(words) + "\n")
            counts.update(words)
    return Counter(f"{word.lower()} {count}" for word, count in counts.items())


def kill_any(watching: Watching, role: str, dice: random.Random) -> None:
    """Kill -9 one process of a role, if there is one."""
    if found := watching.processes(role):
        with contextlib.suppress(psutil.NoSuchProcess):
            dice.choice(found).kill()


def test_the_counts_of_a_file_are_exact_with_kills_and_updates(engine: Engine, tmp_path: Path) -> None:
    print(f"seed {SEED}, {KILLS} kills, {LINES} lines")
    dice = random.Random(f"words {SEED}")
    source, folder, brake = tmp_path / "text.txt", tmp_path / "counts", tmp_path / "brake"
    expected = write_lines(source, dice)
    brake.touch()
    run = engine.start(
        "run", str(TOPOLOGIES / "file_words.py"), str(source), str(folder), str(brake), "--runner", "engine",
        "--set", "checkpoint.interval=300ms", "--set", "container.restart_reset=100ms",
    )  # fmt: skip
    with run, Watching(engine, NAME) as watching:
        wait_until(lambda: watching.newest() > 0, 60, "a checkpoint", watching.detail)
        roles = [*dice.sample(ROLES, len(ROLES)), *dice.choices(ROLES, k=KILLS)]
        for number, role in enumerate(roles[:KILLS]):
            begun = watching.checkpoints().started
            time.sleep(dice.uniform(0, 0.5))
            kill_any(watching, role, dice)

            def is_saved(before: int = begun) -> bool:
                return watching.newest() > before

            wait_until(is_saved, 90, f"{role} is back", watching.detail)
            print(f"killed {role}: run {watching.checkpoints().run}")
            if number == 0:
                engine.ok("update", NAME, "count=4", "--yes")
        assert watching.checkpoints().run > 1, "no kill made the pipeline go back"
        engine.ok("update", NAME, "count=1", "--yes")
        brake.unlink()
        for role in dice.sample(["count", "files", "printed"], 2):  # about when the input ends
            time.sleep(dice.uniform(0, 1))
            kill_any(watching, role, dice)
        stdout, stderr = run.communicate(timeout=120)
    assert run.returncode == 0, stderr
    assert Counter(stdout.splitlines()) == expected
    found = Counter(line for file in folder.glob("*.txt") for line in file.read_text().splitlines())
    assert found == expected
    assert stderr.splitlines()[-1].startswith(f"{NAME} FINISHED after ")
    assert engine.leftovers() == []
