"""Batches of rows against rows: the same word count, with emit_many and process_batch, and without.

python bench/batches.py [--rounds 7] [--acked]        CPU of all processes per word; rows twice: the A/A pair
"""

from __future__ import annotations

import argparse

from measure import machine, ratios, spread
from word_count import heronpy


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--acked", action="store_true", help="at least once: every batch, or every word, has an id"
    )
    options = parser.parse_args()
    more = ("acked",) if options.acked else ()
    print(machine())
    costs: dict[str, list[float]] = {"rows": [], "batches": [], "rows again": []}
    rates: dict[str, list[float]] = {side: [] for side in costs}
    for number in range(options.rounds):
        for side in sorted(costs, key=list(costs).index, reverse=bool(number % 2)):
            unit = ("batches",) if side == "batches" else ()
            rates[side].append(heronpy(costs[side], *unit, *more))
    for side, cost in costs.items():
        print(f"{side:10} words per second: {spread(rates[side])}; CPU-microseconds per word: {spread(cost)}")
    print(f"rows / rows again, CPU per word: {spread(ratios(costs['rows'], costs['rows again']))}")
    print(
        f"rows / batches, CPU per word: {spread(ratios(costs['rows'], costs['batches']))};"
        " goal: at least 2.5, aim: 3.4"
    )
    print(f"batches / rows, words per second: {spread(ratios(rates['batches'], rates['rows']))}")


if __name__ == "__main__":
    main()
