"""Lines about late records: one for a step, at most every ten seconds, if there is something new."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pytest

from heronpy.operators.stage_logic import StageLogic
from heronpy.operators.stamped import Stamped
from heronpy.pipeline import Pipeline, sinks, sources, tumbling
from heronpy.planner.planning import planned
from heronpy.stages import late_lines
from heronpy.stages.late_lines import LateLines
from heronpy.testing import PipelineTest
from heronpy.testing.clock import Clock

SECOND = 1_000_000


def counting() -> StageLogic:
    p = Pipeline("p")
    timed = p.read(sources.items([1])).event_time(lambda n: n, unit="s", lag="0s")
    timed.key_by(lambda n: n % 2).window(tumbling("10s")).count(name="count").write(sinks.collected())
    logic = StageLogic(planned(p.graph()), "count")
    logic.advance_all(60 * SECOND)
    return logic


def give(logic: StageLogic, times: Sequence[int]) -> None:
    logic.take("count", 0, [("k", Stamped(time * SECOND, time)) for time in times])


def test_a_step_that_drops_records_says_so_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    logic, clock = counting(), Clock()
    lines = LateLines([logic], logging.getLogger("test"), clock.monotonic)

    def said() -> list[str]:
        lines.look()
        messages = [record.getMessage() for record in caplog.records]
        caplog.clear()
        return messages

    clock.advance("20s")
    assert said() == []
    give(logic, [1, 49, 70])
    assert said() == []
    clock.advance("10s")
    assert said() == [
        "count: dropped 2 late records (latest 10s behind; lateness='1m' would have kept 2)",
    ]
    clock.advance("10s")
    assert said() == []
    give(logic, [2])
    assert said() == []
    clock.advance("10s")
    assert said()[0].startswith("count: dropped 3 late records")
    assert logic.late_dropped == {"count": 3}


def test_a_task_writes_it_to_its_log_while_it_runs(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is written when the task reports its metrics; every ten seconds would be those of the real clock."""
    monkeypatch.setattr(late_lines, "EVERY", 0.0)
    p = Pipeline("p")
    timed = p.read(sources.items([1]), name="numbers").event_time(lambda n: n, unit="s", lag="0s")
    timed.key_by(lambda n: n % 2).window(tumbling("10s")).count(name="count").write(sinks.printed())
    with PipelineTest(p) as run:
        run.feed("numbers", 1, 60, 2)
        assert run.late_dropped("count") == 1
        run.advance("2s")
        run.advance("2s")
    assert [record.getMessage() for record in caplog.records] == [
        "count: dropped 1 late record (latest 50s behind; lateness='1m' would have kept 1)",
    ]


def test_a_step_that_drops_nothing_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    logic, clock = counting(), Clock()
    lines = LateLines([logic], logging.getLogger("test"), clock.monotonic)
    give(logic, [61])
    clock.advance("10s")
    lines.look()
    assert caplog.records == []
