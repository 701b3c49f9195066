"""NEXMark on the engine: what plain loops over the same events find."""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.nexmark import nexmark_oracles, window_oracles
from support.running.engine import TOPOLOGIES, Engine

from heronpy.nexmark import NexmarkSource
from heronpy.nexmark.queries import QUERIES, TIMED_QUERIES

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]

EVENTS = 6_000
ORACLES: dict[str, Callable[[list[Any]], list[Any]]] = {
    "Q0": nexmark_oracles.q0,
    "Q1": nexmark_oracles.q1,
    "Q2": nexmark_oracles.q2,
    "Q3": nexmark_oracles.q3,
    "Q13": lambda events: nexmark_oracles.q13(events, nexmark_oracles.side_table()),
    "Q4": window_oracles.q4,
    "Q5": window_oracles.q5,
    "Q6": window_oracles.q6,
    "Q7": window_oracles.q7,
    "Q8": window_oracles.q8,
    "Q9": window_oracles.q9,
    "Q11": window_oracles.q11,
}


def read(folder: Path) -> Counter[str]:
    return Counter(
        json.loads(line) for file in folder.glob("*.jsonl") for line in file.read_text().splitlines()
    )


def test_queries_find_what_their_oracles_find(engine: Engine, tmp_path: Path) -> None:
    """Two and a half minutes of events by three generators, of which one task reads two."""
    engine.ok(
        "run", str(TOPOLOGIES / "nexmark_queries.py"), str(tmp_path), str(EVENTS), "--runner", "engine",
        "--set", "topology.fuse=container", "--set", "topology.stmgrs=2",
    )  # fmt: skip
    assert {*ORACLES, "Q12"} == {*QUERIES, *TIMED_QUERIES}
    source = NexmarkSource(EVENTS, generators=3, rate=40, out_of_order=3)
    events: list[Any] = [event for config in source.configs() for event in config.generate()]
    for name, oracle in ORACLES.items():
        found = read(tmp_path / name)
        assert found == Counter(repr(tuple(one)) for one in oracle(events)), name
        assert found
    counts: Counter[int] = Counter()
    for pane, times in read(tmp_path / "Q12").items():  # in how many panes depends on the machine's speed
        bidder, bids = ast.literal_eval(pane)
        counts[bidder] += bids * times
    assert counts == window_oracles.q12(events)
