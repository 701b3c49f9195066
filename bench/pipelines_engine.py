"""A pipeline's word count on the engine against the same count by a spout and a bolt: CPU time.

python -m bench.pipelines_engine [--words 3000000] [--rounds 5]

A ratio is how many times as cheap as the spout and the bolt a pipeline is; the goal is level, within the
spread of the spout and the bolt against themselves. Beside it, a pipeline whose aggregate cannot be combined,
so that as many tuples cross the exchange as by hand.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.arithmetic import alternate, machine, ratios, spread
from bench.sides.engine_run import TOPOLOGIES
from bench.sides.word_sides import HERONPY
from heronpy.kernel.machine.cpu import cpu_seconds_of

#: different words of a long text, and of the word count in Heron's paper
TEXT, PAPER = 20_000, 450_000
#: seconds after which a run is given up
PATIENCE = 300.0


def cost(form: str, words: int, vocabulary: int) -> float:
    """CPU-microseconds per word of all processes of the topology, from the first word to the counts."""
    with tempfile.TemporaryDirectory(prefix="hb-") as folder:
        found = Path(folder) / "found"
        found.mkdir()
        environment = {**os.environ, "HERONPY_HOME": f"{folder}/home"}
        arguments = [str(found), form, str(words), str(vocabulary)]
        submit = [HERONPY, "submit", str(TOPOLOGIES / "counted_words.py"), *arguments]
        subprocess.run(submit, env=environment, check=True, capture_output=True)
        try:
            before = _spent(folder)
            (found / "go").touch()
            until = time.monotonic() + PATIENCE
            while (counted := counted_in(found)) < words:
                assert time.monotonic() < until, f"{form}: {counted} of {words}"
                time.sleep(0.05)
            spent = _spent(folder) - before
        finally:
            subprocess.run([HERONPY, "kill", "--all"], env=environment, check=True, capture_output=True)
    assert counted == words, f"{form}: {counted} of {words}"
    return spent / words * 1e6


def _spent(folder: str) -> float:
    """CPU seconds of all processes of the topology so far."""
    mark = os.fsencode(folder)
    return cpu_seconds_of(lambda line: mark in line)


def counted_in(folder: Path) -> int:
    """Words of the counts that are there."""
    return sum(
        int(line.split()[-1]) for file in folder.glob("*.txt") for line in file.read_text().splitlines()
    )


def judged(found: Sequence[float], itself: Sequence[float]) -> str:
    """Whether it is at least level, by what the hand-written count differs from itself."""
    middle, noise = statistics.median(found), max(abs(ratio - 1) for ratio in itself)
    verdict = "undecided" if abs(middle - 1) <= noise else "met" if middle > 1 else "missed"
    return f"goal: level: {verdict} (A/A within {noise:.0%})"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--words", type=int, default=3_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    print(f"{machine()}; {asked.words:,} words")
    for form, vocabulary in (("pipeline", TEXT), ("pipeline", PAPER), ("single", PAPER)):

        def by_hand(vocabulary: int = vocabulary) -> float:
            return cost("hand", asked.words, vocabulary)

        def by_pipeline(form: str = form, vocabulary: int = vocabulary) -> float:
            return cost(form, asked.words, vocabulary)

        itself = ratios(*alternate(asked.rounds, by_hand, by_hand))
        hand, piped = alternate(asked.rounds, by_hand, by_pipeline)
        found = ratios(hand, piped)
        print(f"{vocabulary:,} different words, by hand: {spread(hand)} CPU-µs a word")
        print(f"{form}: {spread(piped)} CPU-µs a word")
        print(f"by hand / {form}: {spread(found)}; {judged(found, itself)}")
        print(f"by hand / by hand (A/A): {spread(itself)}", flush=True)


if __name__ == "__main__":
    main()
