"""Splits that are silent or run ahead, as a pipeline's test sees them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from heronpy import Pipeline
from heronpy.pipeline import sinks, sources, tumbling
from heronpy.testing import PipelineTest, on_time

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def seconds(**how: Any) -> Pipeline:
    """Numbers are seconds behind noon."""
    p = Pipeline("seconds")
    read = p.read(sources.items(list[int]()), name="seconds")
    timed = read.event_time(lambda second: NOON + timedelta(seconds=second), lag="5s", **how)
    timed.key_by(lambda _: "k").window(tumbling("1m")).count(name="count").write(sinks.printed())
    return p


def test_the_last_window_fires_when_traffic_stops() -> None:
    with PipelineTest(seconds(idle="30s"), splits=2, now="12:00") as run:
        run.feed("seconds", 10, 20)
        run.advance("30s")
        assert run.panes("count") == []
        run.advance("90s")
        assert run.panes("count") == [on_time("k", 2, "12:00", "12:01")]


def test_a_silent_split_is_named_until_it_is_idle() -> None:
    with PipelineTest(seconds(idle="30s"), splits={"seconds": ["eu", "us"]}, now="12:00") as run:
        assert run.held_by("seconds") == "split eu: nothing yet"
        run.feed("seconds", 10, split="eu")
        run.advance("20s")
        assert run.held_by("seconds") == "split us: silent 20s"
        run.idle("seconds", split="us")
        assert run.held_by("seconds") is None


def test_without_idle_it_is_said_what_to_try() -> None:
    with PipelineTest(seconds(), par=2, splits=2, now="12:00") as run:
        run.feed("seconds", 10, split="0")
        run.advance("2m")
        assert run.held_by("seconds") == "split 1: silent 2m (try idle='30s')"


def test_a_split_that_runs_ahead_is_named_while_the_slow_one_keeps_coming() -> None:
    with PipelineTest(seconds(ahead="10m"), splits={"seconds": ["fast", "slow"]}) as run:
        run.feed("seconds", 5, split="slow")
        run.feed("seconds", 10, 3005, 6000, split="fast")
        assert run.held_by("seconds") == "split 'fast' is 50m ahead of 'slow' and waits (ahead='10m')"
        run.feed("seconds", 3000, split="slow")
        assert run.held_by("seconds") == "split 'fast' is 50m ahead of 'slow' and waits (ahead='10m')"
        run.feed("seconds", 6000, split="slow")
        assert run.held_by("seconds") is None
