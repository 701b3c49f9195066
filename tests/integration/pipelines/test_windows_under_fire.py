"""Windows and timers on the engine are exact, whichever process dies and however they are scaled."""

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
from support.running.standstill import Standstill
from support.running.watching import Watching

NAME = "timed-counts"
KILLS = int(os.environ.get("CHAOS_KILLS", "2"))
ROLES = ["count", "lines", "stream-manager", "panes", "topology-master", "executor"]
#: how many tasks windows and source have, one after the other
SCALES = (["count=4"], ["count=1", "lines=1"], ["count=3", "lines=2", "sum=3"])
#: lines that are read at full speed after each kill or update begins; then they are read slowly until the
#: next one, since the input ends
FREELY = 25_000 if "CHAOS_KILLS" in os.environ else 0
LINES = int(os.environ.get("CHAOS_LINES", str(40_000 + FREELY * (KILLS + len(SCALES)))))
#: an hour that is long over
BEGIN = 1_700_000_000

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240 + 40 * KILLS)]


def write_clicks(folder: Path, dice: random.Random) -> list[Counter[str]]:
    """Two files whose lines are up to 5 s out of order; the panes, sums and reminders that are exact."""
    folder.mkdir()
    users = [f"user{number}" for number in range(50)]
    clicks = [(dice.choice(users), BEGIN + number // 100, number) for number in range(LINES)]
    for part in range(2):
        arriving = sorted(clicks[part::2], key=lambda click: click[1] + dice.uniform(0, 4.9))
        (folder / f"{part}.txt").write_text("".join(f"{user} {at} {n}\n" for user, at, n in arriving))
    counts = Counter((user, at // 10 * 10) for user, at, _ in clicks)
    sums: Counter[tuple[str, int]] = Counter()
    for user, at, number in clicks:
        for start in range(at // 10 * 10 - 20, at + 1, 10):
            sums[user, start] += number
    reminders = Counter(f"{user} {number} {at + 3}" for user, at, number in clicks)
    return [shown(counts), shown(sums), reminders]


def shown(windows: Counter[tuple[str, int]]) -> Counter[str]:
    return Counter(f"{user} {start} {value} 0 on_time" for (user, start), value in windows.items())


def written(folder: Path) -> Counter[str]:
    return Counter(line for file in folder.glob("*.txt") for line in file.read_text().splitlines())


def kill_any(watching: Watching, role: str, dice: random.Random) -> None:
    """Kill -9 one process of a role, if there is one."""
    if found := watching.processes(role):
        with contextlib.suppress(psutil.NoSuchProcess):
            dice.choice(found).kill()


def reached(watching: Watching) -> int:
    """About how many lines event time has passed."""
    found = [one.low_watermark for one in watching.status().event_time if one.component == "count"]
    return sum(round(100 * (at - BEGIN)) for at in found if at is not None)


def accelerate(brake: Path) -> None:
    """Some more lines at full speed."""
    changed = brake.with_suffix(".new")
    changed.write_text(str(int(brake.read_text()) + FREELY))
    changed.replace(brake)


def scale(engine: Engine, tasks: list[str]) -> None:
    """Scale while it runs; prints for how long event time stood still."""
    begun = time.monotonic()
    with Standstill(engine, NAME, {"count", "sum"}) as standstill:
        engine.ok("update", NAME, *tasks, "--yes")
        took = time.monotonic() - begun
    print(f"{' '.join(tasks)}: {took:.1f} s, the low watermark stood still for {standstill.longest:.1f} s")


def test_panes_and_timers_are_exact_with_kills_and_updates(engine: Engine, tmp_path: Path) -> None:
    print(f"seed {SEED}, {KILLS} kills, {LINES} lines, {FREELY} at full speed for each fault")
    dice = random.Random(f"windows {SEED}")
    inputs, folder, brake = tmp_path / "clicks", tmp_path / "found", tmp_path / "brake"
    panes, sums, reminders = write_clicks(inputs, dice)
    brake.write_text("0")
    file = TOPOLOGIES / "timed_counts.py"
    run = engine.start(
        "run", str(file), str(inputs), str(folder), str(brake), "--runner", "engine",
        "--set", "checkpoint.interval=300ms", "--set", "container.restart_reset=100ms",
    )  # fmt: skip
    with run, Watching(engine, NAME) as watching:
        wait_until(lambda: watching.newest() > 0, 60, "a checkpoint", watching.detail)
        roles = [*dice.sample(ROLES, len(ROLES)), *dice.choices(ROLES, k=KILLS)][:KILLS]
        for number, role in enumerate(roles):
            accelerate(brake)
            time.sleep(dice.uniform(0, 0.5))
            kill_any(watching, role, dice)
            begun = watching.checkpoints().started  # not before: those may be complete without the dead

            def is_saved(before: int = begun) -> bool:
                return watching.newest() > before

            wait_until(is_saved, 90, f"{role} is back", watching.detail)
            print(f"killed {role}: run {watching.checkpoints().run}, {reached(watching)} lines done")
            if number < len(SCALES):
                accelerate(brake)
                scale(engine, SCALES[number])
        for tasks in SCALES[len(roles) :]:
            accelerate(brake)
            scale(engine, tasks)
        brake.unlink()
        _, stderr = run.communicate(timeout=120)
    assert run.returncode == 0, stderr
    assert written(folder / "late") == Counter()
    assert written(folder / "panes") == panes
    assert written(folder / "sums") == sums
    assert written(folder / "reminders") == reminders
    assert written(folder / "missed") == Counter()
    assert engine.leftovers() == []
