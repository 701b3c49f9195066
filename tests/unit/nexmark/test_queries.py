"""The queries of NEXMark as pipelines find what the oracles find in the same events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from support.nexmark import nexmark_oracles as oracles
from support.nexmark import window_oracles

from heronpy import Pipeline, UserError
from heronpy.nexmark import NexmarkSource
from heronpy.nexmark.queries import QUERIES, query
from heronpy.nexmark.windowed_queries import WINDOWED_QUERIES
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


@pytest.mark.parametrize("generators", [1, 4])
@pytest.mark.parametrize("name", QUERIES)
def test_a_query_finds_what_its_oracle_finds(name: str, generators: int) -> None:
    source = NexmarkSource(events=10_000, generators=generators, out_of_order=3)
    p, kept = Pipeline("nexmark"), sinks.collected()
    query(name.lower(), p, p.read(source)).write(kept)
    p.run()
    events = [event for config in source.configs() for event in config.generate()]
    assert Counter(kept.records) == Counter(ORACLES[name](events))
    assert len(kept.records) == RESULTS[name]


WINDOW_ORACLES: dict[str, Callable[..., list[Any]]] = {
    "Q5": window_oracles.q5,
    "Q7": window_oracles.q7,
    "Q8": window_oracles.q8,
    "Q11": window_oracles.q11,
}


@pytest.mark.parametrize("generators", [1, 3])
@pytest.mark.parametrize("name", WINDOWED_QUERIES)
def test_a_query_in_windows_finds_what_its_oracle_finds(name: str, generators: int) -> None:
    """30 seconds of events; each generator has a watermark of its own."""
    source = NexmarkSource(events=6_000, generators=generators, rate=200, out_of_order=3)
    p, kept = Pipeline("nexmark"), sinks.collected()
    query(name, p, p.read(source)).write(kept)
    p.run()
    events = [event for config in source.configs() for event in config.generate()]
    expected = WINDOW_ORACLES[name](events)
    assert Counter(kept.records) == Counter(expected)
    assert expected


def test_a_query_that_is_not_there_is_named() -> None:
    p = Pipeline("nexmark")
    with pytest.raises(UserError, match=r"^NEXMark has no query 'Q10' here"):
        query("Q10", p, p.read(NexmarkSource()))
