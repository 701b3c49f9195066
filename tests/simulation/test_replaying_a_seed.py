"""A seed is all that it takes to see a schedule again, on any machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.simulation.run import run_schedule

TESTS = Path(__file__).parent.parent


def told(seed: int, hash_seed: str) -> tuple[int, list[str]]:
    done = subprocess.run(
        [sys.executable, "-m", "support.simulation", "--seed", str(seed)],
        env={**os.environ, "PYTHONPATH": f"{TESTS.parent}:{TESTS}", "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()[:-1]  # the last line has the time it took


@pytest.mark.parametrize("seed", [4, 5])
def test_equal_seeds_give_equal_traces_in_any_process(seed: int) -> None:
    code, lines = told(seed, "1")
    assert code == 0
    assert told(seed, "2") == (0, lines)
    assert lines[: len(trace := run_schedule(seed, tracing=True).trace)] == "\n".join(trace).splitlines()
    assert "epilogue" in "".join(lines)
    assert f"seed: {seed}" in lines


def test_other_seeds_give_other_worlds() -> None:
    assert run_schedule(7, tracing=True).trace != run_schedule(10, tracing=True).trace


def test_without_tracing_nothing_is_written_down() -> None:
    assert run_schedule(7).trace == []
