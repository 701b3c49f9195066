"""Replays one schedule and tells what happened: python -m support.simulation --seed 42."""

from __future__ import annotations

import argparse
import logging
import time

from support.simulation.run import run_many, run_schedule


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m support.simulation", description=__doc__)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument(
        "--count",
        type=int,
        default=1,
        help="this many from the seed on, on all cores, without traces",
    )
    arguments = parser.parse_args()
    logging.getLogger("heronpy").addHandler(logging.NullHandler())  # the trace has what it says
    begun = time.perf_counter()
    failed = 0
    seeds = range(arguments.seed, arguments.seed + arguments.count)
    for outcome in run_many(seeds) if arguments.count > 1 else [run_schedule(arguments.seed, tracing=True)]:
        failed += bool(outcome.failures)
        print(*outcome.trace, sep="\n", end="\n" if outcome.trace else "")
        if outcome.failures or arguments.count == 1:
            counted = {name: getattr(outcome, name) for name in outcome.__struct_fields__ if name != "trace"}
            print(*(f"{name}: {value}" for name, value in counted.items()), sep="\n")
    print(f"{arguments.count} schedules, {failed} failed, {time.perf_counter() - begun:.1f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
