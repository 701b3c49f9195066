"""Watermarks and windows of one's own, behind crashes and rescaling."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from heronpy import Pipeline
from heronpy.pipeline import sinks, sources, tumbling
from heronpy.pipeline.graph import Panes
from heronpy.pipeline.times import BEGINNING
from heronpy.pipeline.watermarks import Watermarks
from heronpy.pipeline.windows import Window, Windows
from heronpy.testing import PipelineTest, at, late, on_time, taken_back


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


class Visits(Windows):
    """From a click until ten minutes behind the last one, but for no more than half an hour."""

    merging = True

    def assign(self, value: Any, time: datetime) -> list[Window]:
        return [Window(time, time + timedelta(minutes=10))]

    def merge(self, windows: Sequence[Window]) -> Iterator[tuple[Window, list[Window]]]:
        parts: list[Window] = []
        for window in sorted(windows):
            if parts and (
                window.start >= parts[-1].end or window.end - parts[0].start > timedelta(minutes=30)
            ):
                yield Window(parts[0].start, parts[-1].end), parts
                parts = []
            parts.append(window)
        yield Window(parts[0].start, parts[-1].end), parts


def visits(panes: Panes = "accumulating") -> Pipeline:
    p = Pipeline("visits")
    timed = p.read(sources.items(list[str]()), name="clicks").event_time(lambda _: 0, unit="s", lag="0s")
    of_ann = timed.key_by(lambda _: "ann").window(Visits(), lateness="1h", panes=panes)
    of_ann.count(name="count").write(sinks.printed())
    return p


@pytest.mark.parametrize("mishap", ["none", "crash", "rescale"])
def test_windows_of_ones_own_grow_together_wherever_their_key_goes(mishap: str) -> None:
    with PipelineTest(visits(), par=2, splits=2) as run:
        run.feed("clicks", at("12:00", "click"), at("12:16", "click"))
        run.checkpoint()
        if mishap == "crash":
            run.crash("count")
        elif mishap == "rescale":
            run.rescale("count", 3)
        run.feed("clicks", at("12:08", "click"), at("12:40", "click"))
        run.feed("clicks", at("12:22", "click"))
        run.watermark("clicks", "12:35")
        assert run.panes("count") == [
            on_time("ann", 3, "12:00", "12:26"),
            on_time("ann", 1, "12:22", "12:32"),
        ]
        run.watermark("clicks", "13:00")
        assert run.panes("count")[2:] == [on_time("ann", 1, "12:40", "12:50")]


def test_a_late_record_between_two_windows_of_ones_own_makes_them_one_and_takes_both_back() -> None:
    with PipelineTest(visits("retracting")) as run:
        run.feed("clicks", at("12:00", "click"), at("12:16", "click"))
        run.watermark("clicks", "12:30")
        first, second = on_time("ann", 1, "12:00", "12:10"), on_time("ann", 1, "12:16", "12:26")
        assert run.panes("count") == [first, second]
        run.feed("clicks", at("12:08", "click"))
        assert run.panes("count")[2:] == [
            taken_back(first),
            taken_back(second),
            late("ann", 3, "12:00", "12:26"),
        ]
