"""Sources, and windows without a key, behind crashes and rescaling: nothing is read or said twice."""

from __future__ import annotations

from collections import Counter

import pytest

from heronpy import Pipeline
from heronpy.pipeline import agg, sinks, sources, tumbling
from heronpy.testing import PipelineTest, at, on_time


def test_a_source_that_is_scaled_up_reads_on_where_its_splits_were() -> None:
    p = Pipeline("words")
    words = p.read(sources.items([""]), name="words")
    words.key_by(str.lower).rolling(agg.count(), name="count").write(sinks.printed())
    with PipelineTest(p, splits=3) as run:
        run.feed("words", *"abc")
        run.rescale("words", 3)
        run.feed("words", *"def")
        run.rescale("words", 2)
        run.feed("words", *"ghi")
        assert Counter(run.results("count")) == Counter((letter, 1) for letter in "abcdefghi")


def totals() -> Pipeline:
    p = Pipeline("totals")
    numbers = p.read(sources.items([0]), name="numbers").event_time(lambda _: 0, unit="s", lag="0s")
    numbers.window(tumbling("1m")).sum(lambda n: n, name="sum").write(sinks.printed())
    return p


@pytest.mark.parametrize("tasks", [1, 2])
def test_a_window_over_all_records_remembers_how_far_it_was(tasks: int) -> None:
    """The one task of the window has no keys, whose watermarks the engine saves."""
    with PipelineTest(totals(), par=tasks, splits=2) as run:
        run.feed("numbers", at("12:00:10", 1), at("12:00:20", 2))
        run.watermark("numbers", "12:01")
        run.checkpoint()
        run.feed("numbers", at("12:01:10", 4), split="0")
        run.crash("sum")
        run.feed("numbers", at("12:00:30", 8), split="1")  # late, as it was before the crash
        run.rescale("numbers", 3 - tasks)
        run.feed("numbers", at("12:01:20", 16), split="1")
        run.watermark("numbers", "12:02")
        assert run.panes("sum") == [
            on_time(None, 3, "12:00", "12:01"),
            on_time(None, 20, "12:01", "12:02"),
        ]
