"""The stages of `make test` in order, and the report at the end: second tries, slowest tests, time per stage.

Runs with the Python of the system, before anything is installed: only the standard library is imported here.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

PROJECT = Path(__file__).parent.parent
PYTHON = PROJECT / ".venv" / "bin" / "python"
#: has the lowest versions of all libraries that pyproject.toml allows
LOWEST_PYTHON = PROJECT / "build" / "lowest" / "bin" / "python"
RECORDS = PROJECT / "build" / "test-run"

#: stage → the marks of its tests
MARKS = {
    "fast": "not cluster and not slow and not soak",
    "lowest": "not cluster and not slow and not soak",
    "cluster": "(cluster or slow) and not soak",
}
#: names the tests that go through the libraries; `make lowest` runs the other fast ones, too
LOWEST_TESTS = "requirements/lowest.tests"
STAGES = ("lint", "types", *MARKS)
SECOND_TRY = "second try"

#: Each worker of a cluster test has a range of ports (support/servers.py), and there are ten of those.
MOST_WORKERS = {"fast": 64, "lowest": 64, "cluster": 10}
#: More failures than this have one cause, and a second try of each would only hide it for an hour.
MOST_SECOND_TRIES = 10
SLOWEST = 40


class Test(NamedTuple):
    """One line of a record, as support/record.py writes it."""

    name: str
    seconds: float
    #: empty: the test passed
    failure: str
    #: empty: the test was not left out
    skipped: str


class Run:
    """One whole run: what has been done so far, and how long it took."""

    def __init__(self, seed: int, workers: int) -> None:
        self._seed = seed
        self._workers = workers
        self._times: dict[str, float] = {}
        self._tests: list[Test] = []
        #: tests that failed at first and passed alone
        self._shaky: list[Test] = []

    def stage(self, name: str) -> bool:
        """Run one stage; whether it passed."""
        if name != "lint" and not self._make("setup", "install"):
            return False
        if name == "lowest" and not self._make("build/lowest/.made", "install"):
            return False
        return self._pytest(name) if name in MARKS else self._make(name, name)

    def _make(self, target: str, stage: str) -> bool:
        with self._timed(stage):
            return subprocess.run(["make", "--silent", target], cwd=PROJECT, check=False).returncode == 0

    def _pytest(self, name: str) -> bool:
        workers = min(self._workers, MOST_WORKERS[name])
        chosen = [f"@{LOWEST_TESTS}"] if name == "lowest" else []
        with self._timed(name):
            passed = self._run_tests(name, ["-n", str(workers), "-m", MARKS[name], *chosen])
        tests = _record(name)
        self._tests += tests
        failed = [test for test in tests if test.failure]
        if passed or name != "cluster" or not 0 < len(failed) <= MOST_SECOND_TRIES:
            return passed
        return self._try_again(failed)

    def _try_again(self, failed: Sequence[Test]) -> bool:
        """Run the tests that failed once more, one after another on the quiet machine."""
        _headline(f"{SECOND_TRY}: {len(failed)} failed beside others; now alone")
        with self._timed(SECOND_TRY):
            self._run_tests(SECOND_TRY, [test.name for test in failed])
        passed = {test.name for test in _record(SECOND_TRY) if not test.failure and not test.skipped}
        self._shaky = [test for test in failed if test.name in passed]
        return len(self._shaky) == len(failed)

    def _run_tests(self, name: str, arguments: Sequence[str]) -> bool:
        seeds = (f"--randomly-seed={self._seed}", f"--hypothesis-seed={self._seed}")
        record = RECORDS / f"{name}.json"
        record.unlink(missing_ok=True)
        done = subprocess.run(
            [
                str(LOWEST_PYTHON if name == "lowest" else PYTHON),
                "-m",
                "pytest",
                "-q",
                *seeds,
                f"--record={record}",
                *arguments,
            ],
            cwd=PROJECT,
            env=_seeded(os.environ, self._seed),
            check=False,
        )
        return done.returncode == 0

    @contextmanager
    def _timed(self, name: str) -> Iterator[None]:
        begun = time.monotonic()
        try:
            yield
        finally:
            self._times[name] = self._times.get(name, 0.0) + time.monotonic() - begun

    def report(self) -> None:
        """What a reader of the output looks for at its end."""
        if self._tests:
            _headline(f"slowest {SLOWEST} tests")
            for test in sorted(self._tests, key=lambda test: -test.seconds)[:SLOWEST]:
                print(f"{test.seconds:7.1f} s  {test.name}")
        self._report_left_out()
        _headline("passed at the second try")
        for test in self._shaky:
            print(f"{test.name}\n    at first: {test.failure}")
        if not self._shaky:
            print("none")
        _headline(f"time of each stage (SEED={self._seed})")
        for name, seconds in [*self._times.items(), ("whole", sum(self._times.values()))]:
            print(f"{seconds / 60:6.1f} min  {name}")

    def _report_left_out(self) -> None:
        left_out: dict[str, int] = {}
        for test in self._tests:
            if test.skipped:
                left_out[test.skipped] = left_out.get(test.skipped, 0) + 1
        if left_out:
            _headline(f"LEFT OUT: {sum(left_out.values())} tests did not run")
        for reason, count in left_out.items():
            print(f"{count:4}  {reason}")


def _record(name: str) -> list[Test]:
    """What the stage wrote; nothing if it ended before that."""
    try:
        lines: list[Any] = json.loads((RECORDS / f"{name}.json").read_text())
    except FileNotFoundError:
        return []
    return [Test(*line) for line in lines]


def _seeded(environment: Mapping[str, str], seed: int) -> dict[str, str]:
    """One seed for all that draws lots: simulated schedules, moments of kills, the order in sets."""
    names = ("SIMULATION_SEED", "CHAOS_SEED", "PYTHONHASHSEED")
    seeded = {**dict.fromkeys(names, str(seed)), **environment}
    # without bytecode on disk each of some thousand processes would compile the engine again
    seeded.pop("PYTHONDONTWRITEBYTECODE", None)
    return seeded


def _headline(text: str) -> None:
    print(f"\n== {text} ==", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stages", nargs="*", default=STAGES, metavar="STAGE", help=" ".join(STAGES))
    parser.add_argument("--seed", type=int, default=1, help="of the order and of all random choices (1)")
    parser.add_argument(
        "--workers",
        type=int,
        default=len(os.sched_getaffinity(0)),
        help="tests at a time (as many as there are cores); 0: in one process",
    )
    options = parser.parse_args()
    for unknown in set(options.stages) - set(STAGES):
        parser.error(f"no stage {unknown!r}: {', '.join(STAGES)}")
    run = Run(options.seed, options.workers)
    red = ""
    try:
        red = next((stage for stage in options.stages if not run.stage(stage)), "")
    finally:
        run.report()
    print(f"\n{f'RED: {red}' if red else 'green'}", flush=True)
    return 1 if red else 0


if __name__ == "__main__":
    sys.exit(main())
