"""What checkpoints cost: the same word count saved every second, against never.

python bench/checkpoints.py [--keys 100000] [--rounds 5]
"""

from __future__ import annotations

import argparse

from measure import alternate, machine, ratios, spread
from word_count import heronpy


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(machine())
    costs: tuple[list[float], list[float]] = ([], [])

    def counted(cost: list[float], interval: str) -> float:
        arguments = (str(options.keys), "1", "--set", f"checkpoint.interval={interval}")
        return heronpy(cost, *arguments, topology="saved_words.py")

    saved, never = alternate(options.rounds, lambda: counted(costs[0], "1s"), lambda: counted(costs[1], "1h"))
    print(f"every second, words per second: {spread(saved)}; CPU-microseconds: {spread(costs[0])}")
    print(f"never,        words per second: {spread(never)}; CPU-microseconds: {spread(costs[1])}")
    # On a busy machine the rates tell more about the others than about us; what a word costs does not.
    print(f"never / every second, CPU per word: {spread(ratios(costs[1], costs[0]))}")
    print(f"every second / never: {spread(ratios(saved, never))}; goal: at least 0.7")


if __name__ == "__main__":
    main()
