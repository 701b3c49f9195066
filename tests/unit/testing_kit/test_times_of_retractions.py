"""What takes a pane back has the pane's time, so that a window behind takes it out of where the pane went."""

from __future__ import annotations

from typing import Any

import pytest

from heronpy import Pipeline
from heronpy.pipeline import everything, sessions, sinks, sources, tumbling
from heronpy.pipeline.triggers import at_count
from heronpy.pipeline.windows import Windows
from heronpy.testing import PipelineTest, at, on_time


def totals(windows: Windows, **how: Any) -> Pipeline:
    """Totals so far, added up by the minute that they are of."""
    p = Pipeline("totals")
    timed = p.read(sources.items(list[int]()), name="numbers").event_time(lambda _: 0, unit="s", lag="0s")
    results = timed.key_by(lambda _: "k").window(windows, trigger=at_count(1), panes="retracting")
    sums = results.sum(lambda number: number, name="sum").map(lambda result: result.value)
    sums.window(tumbling("1m"), **how).sum(lambda total: total, name="minutes").write(sinks.printed())
    return p


def test_a_total_of_all_time_moves_to_the_minute_of_its_newest_record() -> None:
    with PipelineTest(totals(everything())) as run:
        run.feed("numbers", at("12:00:10", 5), at("12:01:10", 9))
        run.finish("numbers")
        assert [(one.value, one.retracts) for one in run.results("sum")] == [
            (5, False),
            (5, True),
            (14, False),
        ]
        assert run.panes("minutes") == [on_time(None, 14, "12:01", "12:02")]


@pytest.mark.parametrize("mishap", ["none", "crash", "rescale"])
def test_a_pane_of_the_present_is_taken_back_where_it_was(mishap: str) -> None:
    """A record that is old when it comes makes a pane of the watermark's time, and is taken back at that."""
    with PipelineTest(totals(everything(), lateness="10m")) as run:
        run.watermark("numbers", "12:05:30")
        run.feed("numbers", at("12:00:10", 5), at("12:00:20", 1))
        run.watermark("numbers", "12:06")
        run.checkpoint()
        if mishap == "crash":
            run.crash("sum")
        elif mishap == "rescale":
            run.rescale("sum", 2)
        run.feed("numbers", at("12:07:10", 9))
        run.finish("numbers")
        assert run.panes("minutes") == [
            on_time(None, 6, "12:05", "12:06"),
            on_time(None, 15, "12:07", "12:08"),
        ], "nothing is left in the first, so it says no more"


def test_a_session_that_becomes_part_of_another_is_taken_out_of_its_minute() -> None:
    """A session of 40 s that began at 12:00:10 ends before 12:01, and behind it when it has grown."""
    with PipelineTest(totals(sessions("40s"), lateness="10m")) as run:
        run.feed("numbers", at("12:00:10", 5), at("12:00:15", 3), at("12:00:45", 9))
        run.feed("numbers", at("12:00:50", 1))
        run.finish("numbers")
        assert run.panes("minutes") == [on_time(None, 18, "12:01", "12:02")]


def test_a_minute_that_is_over_keeps_what_was_in_it() -> None:
    with PipelineTest(totals(everything())) as run:
        run.feed("numbers", at("12:00:10", 5))
        run.watermark("numbers", "12:01")
        run.feed("numbers", at("12:01:10", 9))
        run.watermark("numbers", "12:02")
        assert run.panes("minutes") == [
            on_time(None, 5, "12:00", "12:01"),
            on_time(None, 14, "12:01", "12:02"),
        ]
        assert run.late_dropped("minutes") == 1
