"""A split that is silent beside a busy one, where a pipeline runs in one process."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from heronpy import Pipeline
from heronpy.connectors import Chunk, Reader, Source
from heronpy.connectors.turns import SplitReader, TurnReader
from heronpy.kernel.config import load_config
from heronpy.kernel.plans import Source as PlanSource
from heronpy.pipeline import sinks, tumbling
from heronpy.planner.planning import planned
from heronpy.plugins.runner.local import LocalRunner

#: the present, in seconds
NOW = 1_800_000_000


class Busy(SplitReader[float]):
    """Has something whenever it is asked, for two minutes."""

    def __init__(self) -> None:
        self._times: Iterator[float] = iter(range(NOW, NOW + 120))

    def read(self, most: int) -> Chunk[float]:
        at = next(self._times, None)
        records = [] if at is None else [at]
        return Chunk("busy", records, 0, caught_up=at is None, ended=at is None)


class Silent(SplitReader[float]):
    """Has one record at the beginning, and one that is as old when it has long been too late."""

    def __init__(self) -> None:
        self._asked = 0

    def read(self, most: int) -> Chunk[float] | None:
        self._asked += 1
        if self._asked == 1:
            return Chunk("silent", [NOW - 600], 1)
        return Chunk("silent", [NOW - 599], 2, caught_up=True, ended=True) if self._asked == 100 else None


class BusyAndSilent(Source[float]):
    name = "both"

    def splits(self) -> Sequence[str]:
        return ["busy", "silent"]

    def open(self) -> Reader[float]:
        return _Both()


class _Both(TurnReader[float]):
    def open_split(self, split: str, position: Any) -> SplitReader[float]:
        return Busy() if split == "busy" else Silent()


@pytest.mark.parametrize(("idle", "dropped"), [(None, 0), ("2m", 0), ("30s", 1)])
def test_it_is_left_out_after_its_time_though_the_other_has_something_at_each_poll(
    monkeypatch: pytest.MonkeyPatch, idle: str | None, dropped: int
) -> None:
    """The clock moves a second with each look at it; the last record of the silent split comes after 100."""
    clock = iter(range(NOW * 10**9, (NOW + 1000) * 10**9, 10**9))
    monkeypatch.setattr(time, "time_ns", lambda: next(clock))
    p = Pipeline("p")
    timed = p.read(BusyAndSilent()).event_time(lambda at: at, unit="s", lag="0s", idle=idle)
    timed.window(tumbling("10s")).count(name="count").write(sinks.collected())
    runner = LocalRunner()
    runner.initialize(load_config("/dev/null", environ={}))
    totals = runner.run(planned(p.graph()), PlanSource())
    runner.close()
    assert totals.read == {"both": 122}
    assert [line.startswith("count: dropped 1 late record") for line in totals.late] == [True] * dropped
