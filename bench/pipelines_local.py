"""Pipelines on the runner `local` against plain Python loops over the same records: CPU time.

python bench/pipelines_local.py [--events 200000] [--rounds 7]

A ratio is how many times as fast as the loop a pipeline is; the goal is 0.6. The last line of each query is
the loop against itself: a figure that is nearer to its goal than that spread is undecided.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable, Sequence
from typing import Any

from measure import alternate, machine, ratios, spread

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


def seconds(run: Callable[[], list[Any]]) -> float:
    gc.collect()
    begun = time.process_time()
    run()
    return time.process_time() - begun


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

        def by_loop(loop: Callable[[Sequence[Event]], list[Any]] = loop) -> float:
            return seconds(lambda: loop(events))

        def by_pipeline(name: str = name) -> float:
            return seconds(lambda: pipeline(name, source))

        plain, piped = alternate(asked.rounds, by_loop, by_pipeline)
        itself = ratios(*alternate(asked.rounds, by_loop, by_loop))
        found = ratios(plain, piped)
        per_event = 1e6 / asked.events
        print(f"{name} loop: {spread([value * per_event for value in plain])} CPU-µs an event")
        print(f"{name} pipeline: {spread([value * per_event for value in piped])} CPU-µs an event")
        print(f"{name} pipeline / loop: {spread(found)}; {judged(found, itself)}")
        print(f"{name} loop / loop (A/A): {spread(itself)}")


if __name__ == "__main__":
    main()
