"""How long scaling holds up a running word count: 2 → 4 → 1 → 3 counters at full speed, effectively once.

python -m bench.scaling [--keys 1000 100000 1000000] [--rounds 3]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

from bench.arithmetic import machine, spread
from bench.sides.engine_run import TOPOLOGIES
from bench.sides.word_sides import HERONPY

STEPS = (4, 1, 3, 2)
#: seconds of ordinary life before the first change, and after each
REST = 5.0


def pauses(keys: int, rounds: int) -> dict[int, list[float]]:
    """Milliseconds for which words were held back, by the number of counters that was asked for."""
    found: dict[int, list[float]] = {wanted: [] for wanted in STEPS}
    with tempfile.TemporaryDirectory(prefix="hb-") as folder:
        environment = {**os.environ, "HERONPY_HOME": f"{folder}/home"}

        def run(*arguments: str) -> str:
            done = subprocess.run(
                [HERONPY, *arguments], env=environment, check=True, capture_output=True, text=True
            )
            return done.stdout

        topology = str(TOPOLOGIES / "saved_words.py")
        run(
            "submit",
            topology,
            str(Path(folder) / "progress"),
            str(keys),
            "2",
            "--set",
            "checkpoint.interval=1s",
        )
        try:
            for _ in range(rounds):
                for wanted in STEPS:
                    time.sleep(REST)
                    said = json.loads(run("update", "SavedWords", f"count={wanted}", "-o", "json"))
                    assert said["ledger"]["lost"] == 0
                    found[wanted].append(1000 * said["ledger"]["pause_seconds"])
        finally:
            run("kill", "--all")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, nargs="+", default=[1000, 100_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(machine())
    for keys in options.keys:
        found = pauses(keys, options.rounds)
        every = [pause for pauses_ in found.values() for pause in pauses_]
        steps = "; ".join(f"to {wanted}: {spread(each)}" for wanted, each in found.items())
        print(f"{keys:,} keys, pause in ms: {spread(every)}  [{steps}]")


if __name__ == "__main__":
    main()
