"""The queries of NEXMark as pipelines find what the oracles find in the same events."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from support.nexmark import nexmark_oracles as oracles
from support.nexmark import window_oracles

from heronpy import Pipeline, UserError
from heronpy.nexmark import Event, NexmarkSource
from heronpy.nexmark.queries import QUERIES, TIMED_QUERIES, query
from heronpy.pipeline import sinks

ORACLES: dict[str, Callable[..., list[Any]]] = {
    "Q0": oracles.q0,
    "Q1": oracles.q1,
    "Q2": oracles.q2,
    "Q3": oracles.q3,
    "Q13": lambda events: oracles.q13(events, oracles.side_table()),
}
#: results of 10,000 events; those of Q2 and Q3 are what the proportions of Beam's generator leave of them
RESULTS = {"Q0": 10_000, "Q1": 9_200, "Q2": 22, "Q3": 17, "Q13": 9_200}


def ran(name: str, source: NexmarkSource) -> tuple[list[Any], list[Event]]:
    """What a query finds, and the events in which it does."""
    p, kept = Pipeline("nexmark"), sinks.collected()
    query(name, p, p.read(source)).write(kept)
    p.run()
    return kept.records, [event for config in source.configs() for event in config.generate()]


@pytest.mark.parametrize("generators", [1, 4])
@pytest.mark.parametrize("name", QUERIES)
def test_a_query_finds_what_its_oracle_finds(name: str, generators: int) -> None:
    source = NexmarkSource(events=10_000, generators=generators, out_of_order=3)
    found, events = ran(name.lower(), source)
    assert Counter(found) == Counter(ORACLES[name](events))
    assert len(found) == RESULTS[name]


WINDOW_ORACLES: dict[str, Callable[..., list[Any]]] = {
    "Q4": window_oracles.q4,
    "Q5": window_oracles.q5,
    "Q6": window_oracles.q6,
    "Q7": window_oracles.q7,
    "Q8": window_oracles.q8,
    "Q9": window_oracles.q9,
    "Q11": window_oracles.q11,
}


@pytest.mark.parametrize("generators", [1, 3])
@pytest.mark.parametrize("rate", [40, 200])
@pytest.mark.parametrize("name", WINDOW_ORACLES)
def test_a_query_in_event_time_finds_what_its_oracle_finds(name: str, rate: int, generators: int) -> None:
    """30 seconds of events, or two and a half minutes; each generator has a watermark of its own."""
    source = NexmarkSource(events=6_000, generators=generators, rate=rate, out_of_order=3)
    found, events = ran(name, source)
    expected = WINDOW_ORACLES[name](events)
    assert Counter(found) == Counter(expected)
    assert expected


def test_bids_by_the_clock_are_all_counted_once() -> None:
    """In how many panes depends on how fast the machine is."""
    found, events = ran("Q12", NexmarkSource(events=6_000, generators=3))
    counts: Counter[int] = Counter()
    for bidder, bids in found:
        counts[bidder] += bids
    assert counts == window_oracles.q12(events)


@pytest.mark.parametrize("name", [*QUERIES, *TIMED_QUERIES])
def test_results_can_go_from_process_to_process(name: str) -> None:
    found, _ = ran(name, NexmarkSource(events=1_000, rate=100))
    assert pickle.loads(pickle.dumps(found)) == found


def test_a_query_that_is_not_there_is_named() -> None:
    p = Pipeline("nexmark")
    with pytest.raises(UserError, match=r"^NEXMark has no query 'Q10' here"):
        query("Q10", p, p.read(NexmarkSource()))
