"""Rows between stages: what a step hands on is what another one gets, as few bytes on the way."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from heronpy.instances.output.codec import PlainCodec
from heronpy.operators.stage_edges import Edge
from heronpy.operators.stamped import Stamped
from heronpy.pipeline import Pipeline, sinks, sources, tumbling
from heronpy.pipeline.records import Pane, Result
from heronpy.pipeline.windows import window_of
from heronpy.planner.planning import planned, stages
from heronpy.stages.stage_streams import EdgeStream, streams_of


def sent(stream: EdgeStream, rows: list[Any]) -> list[Any]:
    """The rows that arrive."""
    codec = PlainCodec()
    frozen = [codec.freeze(tuple(row)) for row in stream.tuples_of()(rows)]
    return stream.rows_of()(codec.decode(codec.encode(frozen)))


ROWS: dict[str, tuple[EdgeStream, list[Any]]] = {
    "records": (EdgeStream("s", ("record",)), ["a", ("b", 1), [2]]),
    "with time": (EdgeStream("s", ("record", "time"), "timed"), [Stamped(7, "a"), Stamped(-1, ("b", 1))]),
    "taken back": (EdgeStream("s", ("record", "time", "retracts"), "timed"), [Stamped(7, 1, True)]),
    "by key": (
        EdgeStream("s", ("key", "record", "time"), "timed"),
        [("k", Stamped(7, "a")), (2, Stamped(8, 9))],
    ),
    "by key, taken back": (
        EdgeStream("s", ("key", "record", "time", "retracts"), "timed"),
        [("k", Stamped(7, "a", True)), ("k", Stamped(7, "b"))],
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_rows_arrive_as_they_left(name: str) -> None:
    stream, rows = ROWS[name]
    assert sent(stream, rows) == rows


def test_a_sink_gets_records_without_their_time() -> None:
    rows: list[Any] = [Stamped(7, (1, 2)), Stamped(8, (3, 4))]
    assert sent(EdgeStream("s", ("record",), "time left out"), rows) == [(1, 2), (3, 4)]
    assert sent(EdgeStream("s", ("x", "y"), "time left out"), rows) == [[1, 2], [3, 4]]


def test_an_edge_has_time_where_a_reader_needs_it_and_a_sign_where_results_may_be_taken_back() -> None:
    p = Pipeline("p")
    numbers = p.read(sources.items([1]), name="numbers")
    timed = numbers.event_time(lambda n: n, unit="s", lag="0s", name="timed")
    odd = timed.key_by(lambda n: n % 2, name="odd")
    sums = odd.window(tumbling("1s"), panes="retracting", lateness="5s")
    found = sums.sum(lambda n: n, name="sum")
    found.by_window().sum(lambda r: r.value, name="total").write(sinks.collected(), name="totals")
    timed.write(sinks.collected(), name="all")
    plan = planned(p.graph())
    streams = {edge: s.fields for stage in stages(plan) for edge, s in streams_of(plan, stage.name).items()}
    assert streams == {
        Edge("sum¹", "", ""): ("key", "record", "time"),
        Edge("sum", "", ""): ("record", "time", "retracts"),
        Edge("total", "", ""): ("record",),
        Edge("timed", "", ""): ("record",),
    }


def test_a_result_is_sent_as_numbers() -> None:
    window = window_of((1_700_000_000_000_000, 1_700_000_010_000_000))
    result = Result("ann", 5, window, Pane(2, "late", False), retracts=True)
    saved = pickle.dumps(result, protocol=5)
    assert pickle.loads(saved) == result
    assert pickle.loads(pickle.dumps(Result("ann", 5))) == Result("ann", 5)
    assert b"datetime" not in saved
    assert len(saved) < 120
