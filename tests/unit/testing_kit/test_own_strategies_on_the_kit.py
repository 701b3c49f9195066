"""Watermarks and windows of one's own, behind crashes and rescaling."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from heronpy import Pipeline
from heronpy.pipeline import sinks, sources, tumbling
from heronpy.pipeline.times import BEGINNING
from heronpy.pipeline.watermarks import Watermarks
from heronpy.testing import PipelineTest


class Largest:
    """What a strategy has seen; its repr has its address, as that of most objects."""

    def __init__(self) -> None:
        self.times: list[int] = []


class BehindThirdLargest(Watermarks):
    """Nothing is older than the third largest time of all: it must remember three."""

    def __init__(self) -> None:
        self._largest = Largest()

    def on_record(self, time: int) -> None:
        self._largest.times = sorted([*self._largest.times, time])[-3:]

    def current(self, now: int, caught_up: bool) -> int:
        times = self._largest.times
        return BEGINNING if len(times) < 3 else times[0]


def minutes() -> Pipeline:
    """Numbers are minutes since 2026."""
    p = Pipeline("minutes")
    begin = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
    read = p.read(sources.items(list[int]()), name="minutes")
    timed = read.event_time(lambda minute: begin + minute * 60, unit="s", lag=BehindThirdLargest())
    timed.key_by(lambda _: "k").window(tumbling("10m")).count(name="count").write(sinks.printed())
    return p


@pytest.mark.parametrize("mishaps", [[], ["crash"], ["rescale"], ["rescale", "crash"], ["crash", "rescale"]])
def test_a_strategy_of_ones_own_remembers_what_it_has_seen(mishaps: list[str]) -> None:
    with PipelineTest(minutes(), splits=2) as run:
        for split in "01":
            run.feed("minutes", 5, 11, split=split)
        run.checkpoint()
        for mishap in mishaps:
            if mishap == "crash":
                run.crash("minutes")
            else:
                run.rescale("minutes", 2)
        assert run.results("count") == []
        for split in "01":
            run.feed("minutes", 12, 13, split=split)
        assert [(result.value, result.window.end.minute) for result in run.results("count")] == [(2, 10)]
        assert run.watermark_of("count") == datetime(2026, 1, 1, 0, 11, tzinfo=UTC)
