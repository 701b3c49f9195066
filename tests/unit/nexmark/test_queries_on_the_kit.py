"""The queries of NEXMark in event time on the engine's own parts: a crash and rescaling change no result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from support.nexmark import window_oracles

from heronpy import Pipeline
from heronpy.nexmark import Event, NexmarkSource
from heronpy.nexmark.queries import TIMED_QUERIES
from heronpy.pipeline import sinks
from heronpy.testing import PipelineTest

#: query → its oracle, the step that is scaled and the one that crashes
QUERIES: dict[str, tuple[Callable[[Any], list[Any]], str, str]] = {
    "Q4": (window_oracles.q4, "winning_in_category", "mean_price"),
    "Q5": (window_oracles.q5, "bids", "hottest"),
    "Q6": (window_oracles.q6, "seller_prices", "winning_of_seller"),
    "Q8": (window_oracles.q8, "came_and_sold", "came_and_sold"),
    "Q9": (window_oracles.q9, "winning", "winning"),
    "Q11": (window_oracles.q11, "session_bids", "session_bids"),
}
SOURCE = NexmarkSource(events=900, rate=30, out_of_order=3)


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_finds_what_its_oracle_finds_through_crashes_and_rescaling(name: str) -> None:
    oracle, scaled, crashed = QUERIES[name]
    events: list[Event] = [event for config in SOURCE.configs() for event in config.generate()]
    p = Pipeline("nexmark")
    timed = p.read(SOURCE, name="events").event_time(lambda event: event.at, unit="ms", lag="1s")
    TIMED_QUERIES[name](timed).write(sinks.printed(), name="found")
    with PipelineTest(p, par=2, splits={"events": ["a", "b"]}) as run:
        for part in range(9):
            for number, event in enumerate(events[part * 100 : part * 100 + 100]):
                run.feed("events", event, split="ab"[number % 2])
            match part:
                case 2:
                    run.rescale(scaled, 3)
                case 3 | 6:
                    run.checkpoint()
                case 4:
                    run.crash(crashed)
                case 7:
                    run.rescale(scaled, 1)
        run.finish("events")
        run.checkpoint()
        found = Counter(run.committed("found"))
    expected = oracle(events)
    assert found == Counter(expected)
    assert expected
