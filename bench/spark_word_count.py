"""A pipeline's word count on Spark against hand-written PySpark code over RDDs, in the same session.

python -m bench.spark_word_count [--lines 400000] [--rounds 5] [--master local[2]]

A ratio is how many times as fast as the RDD code the pipeline is, by the clock; the goal is 0.8, the aim 1.5.
The last ratio is the RDD code against itself: a figure nearer to its goal than that spread is undecided.
"""

from __future__ import annotations

import argparse
import operator
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.arithmetic import alternate, machine, ratios, spread
from heronpy import Pipeline
from heronpy.kernel import plans
from heronpy.kernel.config import load_config
from heronpy.pipeline import sinks, sources
from heronpy.planner.planning import planned
from heronpy.plugins.runner.spark.runner import SparkRunner

GOAL = 0.8
WORDS_A_LINE, FILES = 10, 4


def write_lines(folder: Path, lines: int) -> None:
    """Words of 20,000, of which few are frequent."""
    chance = random.Random(7)
    words = [f"word{number}" for number in range(20_000)]
    weights = [1 / (rank + 1) for rank in range(len(words))]
    for number in range(FILES):
        chosen = chance.choices(words, weights, k=lines // FILES * WORDS_A_LINE)
        rows = (" ".join(chosen[at : at + WORDS_A_LINE]) for at in range(0, len(chosen), WORDS_A_LINE))
        (folder / f"{number}.txt").write_text("\n".join(rows) + "\n")


def by_pipeline(runner: SparkRunner, folder: Path) -> list[Any]:
    p, found = Pipeline("wordcount"), sinks.collected()
    words = p.read(sources.lines(folder)).flat_map(str.split)
    words.key_by(lambda word: word).count().write(found)
    runner.run(planned(p.graph()), plans.Source())
    return found.records


def by_rdd(context: Any, folder: Path) -> list[Any]:
    lines = context.textFile(str(folder), FILES)
    counts = lines.flatMap(str.split).map(lambda word: (word, 1)).reduceByKey(operator.add)
    found: list[Any] = counts.collect()
    return found


def seconds(run: Callable[[], list[Any]]) -> float:
    begun = time.monotonic()
    run()
    return time.monotonic() - begun


def judged(found: Sequence[float], itself: Sequence[float]) -> str:
    """Whether the goal is met, by more than the RDD code differs from itself."""
    middle = sorted(found)[len(found) // 2]
    noise = max(abs(ratio - 1) for ratio in itself) * middle
    if abs(middle - GOAL) < noise:
        return f"goal {GOAL}: undecided"
    return f"goal {GOAL}: {'met' if middle > GOAL else 'missed'}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lines", type=int, default=400_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--master", default="local[2]")
    asked = parser.parse_args()
    runner = SparkRunner()
    runner.initialize(load_config("/dev/null", {}, {"scheduler.spark.master": asked.master}))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_lines(folder, asked.lines)
        try:
            compare(runner, folder, asked.lines * WORDS_A_LINE, asked.rounds)
        finally:
            runner.close()


def compare(runner: SparkRunner, folder: Path, words: int, rounds: int) -> None:
    counted = by_pipeline(runner, folder)
    assert runner.session is not None
    context = runner.session.spark.sparkContext
    assert sorted(counted) == sorted(by_rdd(context, folder))
    print(f"{machine()}; {words:,} words, {len(counted):,} of them different")

    def rdd() -> float:
        return seconds(lambda: by_rdd(context, folder))

    def piped() -> float:
        return seconds(lambda: by_pipeline(runner, folder))

    plain, ours = alternate(rounds, rdd, piped)
    itself = ratios(*alternate(rounds, rdd, rdd))
    found = ratios(plain, ours)
    print(f"  RDD code, seconds       {spread(plain)}")
    print(f"  pipeline, seconds       {spread(ours)}")
    print(f"  pipeline against RDDs   {spread(found)}; {judged(found, itself)}")
    print(f"  RDD code against itself {spread(itself)}")


if __name__ == "__main__":
    main()
