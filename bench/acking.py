"""What at least once costs: the same word count with every word tracked and acked, against none.

python bench/acking.py [--rounds 5]
"""

from __future__ import annotations

import argparse

from measure import alternate, machine, ratios, spread
from word_count import heronpy


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(machine())
    tracked_cost: list[float] = []
    plain_cost: list[float] = []
    tracked, plain = alternate(
        options.rounds, lambda: heronpy(tracked_cost, "acked"), lambda: heronpy(plain_cost)
    )
    print(f"at least once, words per second: {spread(tracked)}; CPU-microseconds: {spread(tracked_cost)}")
    print(f"at most once,  words per second: {spread(plain)}; CPU-microseconds: {spread(plain_cost)}")
    # On a busy machine the rates tell more about the others than about us; what a word costs does not.
    print(f"at most once / at least once, CPU per word: {spread(ratios(plain_cost, tracked_cost))}")
    print(f"at least once / at most once: {spread(ratios(tracked, plain))}; goal: at least 0.5, aim: 0.6")


if __name__ == "__main__":
    main()
