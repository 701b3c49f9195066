"""Spouts that finish: everything is processed and committed, then the topology is FINISHED."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.running.engine import TOPOLOGIES, Engine, wait_until
from support.running.watching import Watching

NAME = "Bounded"
SPLITS, REMAINDERS = 4, 10

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(180)]


def lines_in(folder: Path) -> Counter[str]:
    return Counter(line for path in folder.glob("[!.]*") for line in path.read_text().splitlines())


def expected(numbers: int) -> Counter[str]:
    """One line for each remainder, from the end of the task that counts it."""
    return Counter(f"{remainder} {SPLITS * numbers // REMAINDERS}" for remainder in range(REMAINDERS))


@pytest.mark.parametrize("mode", ["ATMOST_ONCE", "ATLEAST_ONCE", "EFFECTIVELY_ONCE"])
def test_a_run_over_input_that_ends_exits_with_totals(engine: Engine, tmp_path: Path, mode: str) -> None:
    folder = tmp_path / "out"
    ended = engine.run("run", str(TOPOLOGIES / "bounded.py"), "5000", "0", str(folder), mode, timeout=120)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == ""
    last = ended.stderr.splitlines()[-1]
    assert last.startswith("Bounded FINISHED after ")
    assert last.endswith(": numbers emitted 20,000; count executed 20,000, emitted 10; files executed 10")
    assert lines_in(folder) == expected(5000)
    assert engine.leftovers() == []


@pytest.mark.parametrize(
    ("fuse", "before", "after"),
    [
        ("none", ("count[0]", "numbers[1]", "stream-manager"), "count[1]"),
        ("container", ("tasks", "stream-manager"), "tasks"),
    ],
)
def test_the_end_is_exact_whichever_process_dies_before_or_after_it(
    engine: Engine, tmp_path: Path, fuse: str, before: Sequence[str], after: str
) -> None:
    folder, numbers = tmp_path / "out", 1000
    engine.ok(
        "submit", str(TOPOLOGIES / "bounded.py"), str(numbers), "0.002", str(folder), "EFFECTIVELY_ONCE",
        "--set", "checkpoint.interval=300ms", "--set", f"topology.fuse={fuse}",
    )  # fmt: skip
    with Watching(engine, NAME) as watching:
        for role in before:
            begun = watching.newest()

            def is_saved(last: int = begun) -> bool:
                return watching.newest() > last

            wait_until(is_saved, 60, "a checkpoint", watching.detail)
            watching.kill(role)
        wait_until(lambda: watching.status().state == "FINISHED", 90, "it is FINISHED", watching.detail)
        assert lines_in(folder) == expected(numbers)
        run = watching.checkpoints().run
        watching.kill(after)
        wait_until(lambda: watching.checkpoints().run > run, 60, "another run", watching.detail)
        wait_until(lambda: watching.status().state == "FINISHED", 60, "FINISHED again", watching.detail)
        assert lines_in(folder) == expected(numbers)
    assert "is FINISHED: its input has ended" in engine.fails("deactivate", NAME)
    assert "its input has ended, so there is nothing left to scale" in engine.fails("update", NAME, "count=3")
    engine.ok("kill", NAME)
    assert engine.leftovers() == []


def test_what_is_scaled_before_its_input_ends_ends_exactly(engine: Engine, tmp_path: Path) -> None:
    folder, numbers = tmp_path / "out", 1500
    engine.ok("submit", str(TOPOLOGIES / "bounded.py"), str(numbers), "0.004", str(folder), "ATLEAST_ONCE")
    engine.ok("update", NAME, "numbers=4", "count=3", "--yes")
    engine.ok("update", NAME, "numbers=1", "count=1", "--yes")
    with Watching(engine, NAME) as watching:
        wait_until(lambda: watching.status().state == "FINISHED", 90, "it is FINISHED", watching.detail)
        status = watching.status()
    assert lines_in(folder) == expected(numbers)
    assert (status.lost_min, status.lost_max) == (0, 0)
    assert "is FINISHED: its input has ended" in engine.fails("activate", NAME)
    engine.ok("kill", NAME)
    assert engine.leftovers() == []
