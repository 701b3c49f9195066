"""Pipelines on the runner `local` against plain Python loops over the same records: CPU time, wall clock.

python -m bench.pipelines_local [--events 200000] [--rounds 7]

A ratio is how many times as fast as the loop a pipeline is; the goal is 0.6 of CPU time, which other work on
the machine disturbs less. The last line of each query is the loop against itself: a figure that is nearer to
its goal than that spread is undecided. The clock starts when the events are there.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from bench.arithmetic import alternate, machine, ratios, spread
from heronpy import Pipeline
from heronpy.connectors import Source
from heronpy.nexmark import Bid, Event, GeneratorConfig
from heronpy.nexmark.queries import query
from heronpy.pipeline import sinks, sources

GOAL = 0.6


def loop_q1(events: Sequence[Event]) -> list[Any]:
    return [event._replace(price=event.price * 89 // 100) for event in events if isinstance(event, Bid)]


def loop_q2(events: Sequence[Event]) -> list[Any]:
    return [
        (event.auction, event.price)
        for event in events
        if isinstance(event, Bid) and event.auction % 123 == 0
    ]


LOOPS = {"Q1": loop_q1, "Q2": loop_q2}


def pipeline(name: str, events: Source[Event]) -> list[Any]:
    p, found = Pipeline("nexmark"), sinks.collected()
    query(name, p, p.read(events)).write(found)
    p.run()
    return found.records


class Timed:
    """Runs and keeps how long each took by the wall clock; a call returns CPU seconds."""

    def __init__(self, run: Callable[[], list[Any]]) -> None:
        self._run = run
        self.wall: list[float] = []

    def __call__(self) -> float:
        gc.collect()
        cpu, wall = time.process_time(), time.perf_counter()
        self._run()
        self.wall.append(time.perf_counter() - wall)
        return time.process_time() - cpu


def judged(found: Sequence[float], itself: Sequence[float]) -> str:
    """Whether the goal is met, by more than the loop differs from itself."""
    middle = sorted(found)[len(found) // 2]
    noise = max(abs(ratio - 1) for ratio in itself) * middle
    if abs(middle - GOAL) < noise:
        return f"goal {GOAL}: undecided"
    return f"goal {GOAL}: {'met' if middle > GOAL else 'missed'}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=7)
    asked = parser.parse_args()
    begun = time.process_time()
    events = list(GeneratorConfig(events=asked.events).generate())
    print(f"{machine()}; {asked.events:,} events, generated in {time.process_time() - begun:.1f} s")
    source = sources.items(events)
    gc.freeze()
    for name, loop in LOOPS.items():
        assert pipeline(name, source) == loop(events)
        compare(name, asked.rounds, partial(loop, events), partial(pipeline, name, source))


def compare(
    name: str, rounds: int, by_loop: Callable[[], list[Any]], by_pipeline: Callable[[], list[Any]]
) -> None:
    loop, piped = Timed(by_loop), Timed(by_pipeline)
    cpu = alternate(rounds, loop, piped)
    itself = ratios(*alternate(rounds, Timed(by_loop), Timed(by_loop)))
    found = ratios(*cpu)
    for side, values in zip(("loop", "pipeline"), cpu, strict=True):
        print(f"{name} {side}: {spread([1000 * value for value in values])} CPU-ms")
    print(f"{name} pipeline / loop: {spread(found)}; {judged(found, itself)}")
    print(f"{name} pipeline / loop, wall clock: {spread(ratios(loop.wall, piped.wall))}")
    print(f"{name} loop / loop (A/A): {spread(itself)}")


if __name__ == "__main__":
    main()
