"""Event time that is given behind an exchange: each task follows what it gets, also after crashes."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from heronpy import Pipeline
from heronpy.kernel.master.knowledge.low_watermarks import low_watermarks
from heronpy.pipeline import sinks, sources, tumbling
from heronpy.pipeline.records import Context
from heronpy.pipeline.watermarks import Watermarks, percentile
from heronpy.testing import PipelineTest, on_time

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
#: users whose records go to the first and to the second task of `kept`
ANN, BOB = 3, 0


@dataclass(frozen=True)
class Click:
    user: int
    second: int


def at_second(click: Click) -> datetime:
    return NOON + timedelta(seconds=click.second)


def minute(number: int) -> tuple[str, str]:
    return f"12:{number:02}", f"12:{number + 1:02}"


def same(_: list[int], click: Click, ctx: Context[int]) -> list[Click]:
    return [click]


def clicks(lag: str | Watermarks = "5s", idle: str | None = None) -> Pipeline:
    p = Pipeline("clicks")
    read = p.read(sources.items(list[Click]()), name="clicks").key_by(lambda click: click.user)
    timed = read.process(list, same, name="kept", par=2).event_time(at_second, lag=lag, idle=idle)
    timed.key_by(lambda _: "all").window(tumbling("1m")).count(name="count", par=2).write(sinks.printed())
    return p


def test_a_crash_does_not_make_a_task_forget_how_far_its_records_had_come() -> None:
    with PipelineTest(clicks()) as run:
        run.feed("clicks", Click(ANN, 10), Click(ANN, 70))
        run.checkpoint()
        run.crash("kept")
        assert run.panes("count") == [], "the task of Bob has had nothing, and is waited for"
        run.feed("clicks", Click(BOB, 90))
        assert run.panes("count") == [on_time("all", 1, *minute(0))]
        assert run.watermark_of("count") == NOON + timedelta(seconds=65)


def test_a_crash_does_not_make_a_task_forget_how_late_its_records_are() -> None:
    with PipelineTest(clicks(percentile(100))) as run:
        run.feed("clicks", *(Click(user, second) for second in (40, 10, 41) for user in (ANN, BOB)))
        run.checkpoint()
        run.crash("kept")
        run.feed("clicks", Click(ANN, 65), Click(BOB, 65))
        run.feed("clicks", Click(ANN, 45))
        assert run.panes("count") == []
        run.feed("clicks", Click(ANN, 100), Click(BOB, 100))
        assert run.panes("count") == [on_time("all", 7, *minute(0))]
        assert run.late_dropped("count") == 0


@pytest.mark.parametrize("crashes", [False, True])
def test_the_slow_records_of_a_task_that_is_scaled_away_do_not_become_late(crashes: bool) -> None:
    with PipelineTest(clicks()) as run:
        run.feed("clicks", Click(ANN, 100), Click(BOB, 10))
        run.checkpoint()
        run.rescale("kept", 1)
        if crashes:  # the checkpoint is of the plan before
            run.crash("kept")
        run.feed("clicks", Click(BOB, 20))
        assert run.panes("count") == []
        run.feed("clicks", Click(ANN, 130))
        assert run.panes("count") == [on_time("all", 2, *minute(0)), on_time("all", 1, *minute(1))]
        assert run.late_dropped("count") == 0


def test_new_tasks_are_waited_for_and_time_does_not_go_back() -> None:
    with PipelineTest(clicks()) as run:
        run.feed("clicks", Click(ANN, 10), Click(ANN, 70), Click(BOB, 70))
        assert run.panes("count") == [on_time("all", 1, *minute(0))]
        run.rescale("kept", 3)
        assert run.watermark_of("count") == NOON + timedelta(seconds=65)
        run.feed("clicks", Click(ANN, 20))
        assert run.late_dropped("count") == 1
        run.feed("clicks", *(Click(user, 130) for user in range(20)))
        assert run.panes("count")[1:] == [on_time("all", 2, *minute(1))]
        assert run.watermark_of("count") == NOON + timedelta(seconds=125)


def test_without_keys_too_a_task_goes_on_from_where_it_was_and_can_be_scaled_away() -> None:
    p = Pipeline("shuffled")
    dealt = p.read(sources.items(list[Click]()), name="clicks").rebalance().map(lambda click: click, par=2)
    timed = dealt.event_time(at_second, lag="5s", name="timed")
    timed.key_by(lambda _: "all").window(tumbling("1m")).count(name="count").write(sinks.printed())
    with PipelineTest(p) as run:
        run.feed("clicks", Click(ANN, 70))  # to one task
        run.checkpoint()
        run.crash("timed")
        run.feed("clicks", Click(BOB, 10))
        run.feed("clicks", Click(BOB, 90))
        run.feed("clicks", Click(BOB, 91))
        assert run.panes("count") == [on_time("all", 1, *minute(0))]
        run.rescale("timed", 1)
        run.feed("clicks", Click(ANN, 130))
        assert run.panes("count") == [on_time("all", 1, *minute(0)), on_time("all", 3, *minute(1))]


def test_a_task_that_gets_nothing_is_idle_and_speaks_again_when_it_has_records() -> None:
    """The data are old, so time does not follow the clock."""
    with PipelineTest(clicks(idle="30s"), now="18:00") as run:
        for second in range(0, 120, 20):
            run.feed("clicks", Click(ANN, second))
            run.advance("4s")
        assert run.panes("count") == [], "the task of Bob is waited for"
        run.advance("7s")
        assert run.panes("count") == [on_time("all", 3, *minute(0))]
        run.feed("clicks", Click(BOB, 10), Click(BOB, 70))
        assert run.late_dropped("count") == 1
        run.feed("clicks", Click(ANN, 300))
        assert run.panes("count")[1:] == [], "the task of Bob is waited for again"
        assert run.watermark_of("count") == NOON + timedelta(seconds=95)
        run.feed("clicks", Click(BOB, 200))
        assert run.panes("count")[1:] == [on_time("all", 4, *minute(1))]


def test_without_idle_a_task_that_gets_nothing_is_waited_for_and_named() -> None:
    with PipelineTest(clicks(), now="18:00") as run:
        run.feed("clicks", Click(ANN, 10), Click(BOB, 10), Click(ANN, 300))
        run.advance("10m")
        assert run.panes("count") == []
        assert run.held_by("kept") == "silent 10m (try idle='30s')"
        tasks = [place.task for place in run._master.places.values() if place.task is not None]
        beats = {task.parts.context.get_task_id(): task.event_time.beat() for task in tasks}
        said = {task: beat for task, beat in beats.items() if beat is not None}
        for task in tasks:
            if (beat := said.get(task.parts.context.get_task_id())) is not None:
                beat.held_by = getattr(task.component, "held_by", str)() or ""
        rows = low_watermarks(run._master.plan, said, run.clock.time())
        named = {one.component: (one.low_watermark, one.held_by) for one in rows}
        five = NOON.timestamp() + 5
        silent = "kept[1] silent 10m (try idle='30s')"
        assert named == {"kept": (five, silent), "count": (five, silent)}


def test_a_task_whose_records_come_within_its_idle_time_is_never_left_out() -> None:
    with PipelineTest(clicks(idle="2s"), now="18:00") as run:
        for step in range(10):
            run.feed("clicks", Click(ANN, 100 * step), Click(BOB, 10 * step))
            for _ in range(3):
                run.advance("500ms")
        assert run.late_dropped("count") == 0
        assert run.watermark_of("count") == NOON + timedelta(seconds=85)


def test_all_tasks_that_get_nothing_follow_the_clock_where_records_were_of_the_present() -> None:
    with PipelineTest(clicks(idle="30s"), now="12:00") as run:
        run.feed("clicks", Click(ANN, 10), Click(BOB, 12))
        run.advance("90s")
        assert run.panes("count") == []
        run.advance("10s")
        assert run.panes("count") == [on_time("all", 2, *minute(0))]


def test_a_task_that_has_other_records_now_is_not_idle_before_its_time() -> None:
    with PipelineTest(clicks(idle="30s"), now="18:00") as run:
        run.feed("clicks", Click(ANN, 100), Click(BOB, 10))
        run.advance("29s")
        run.rescale("kept", 3)
        run.feed("clicks", *(Click(user, 120) for user in range(20)))
        assert run.late_dropped("count") == 0
        run.advance("29s")
        run.feed("clicks", Click(BOB, 115))
        assert run.late_dropped("count") == 0


def test_an_aggregate_of_all_records_is_one_result_also_behind_a_checkpoint() -> None:
    """What is saved of event time is no key of the aggregate in front of it."""
    p = Pipeline("counted")
    counted = p.read(sources.items([0]), name="numbers").count(name="count")
    counted.event_time(lambda number: number, unit="s", lag="0s").write(sinks.printed(), name="shown")
    with PipelineTest(p) as run:
        run.feed("numbers", 1, 2, 3)
        run.checkpoint()
        run.feed("numbers", 4)
        run.crash("count")
        run.finish("numbers")
        assert run.written("shown") == [4]


@pytest.mark.parametrize("seed", range(12))
def test_disorder_within_the_lag_makes_nothing_late_whatever_happens(seed: int) -> None:
    """Records are at most five seconds behind the newest one, over all users."""
    dice = random.Random(seed)
    faults = ["checkpoint", "crash kept", "crash count", "crash clicks", *(f"rescale {n}" for n in (1, 2, 3))]
    seconds = [max(0, 4 * number - dice.randrange(6)) for number in range(60)]
    with PipelineTest(clicks(), seed=seed) as run:
        reached = run.watermark_of("count")
        for second in seconds:
            run.feed("clicks", Click(dice.randrange(20), second))
            if dice.random() < 0.3:
                word, *what = dice.choice(faults).split()
                run.script([(word, *(("kept", int(what[0])) if word == "rescale" else what))])
                reached = min(reached, run.watermark_of("count")) if word == "crash" else reached
            assert run.watermark_of("count") >= reached
            reached = run.watermark_of("count")
        run.finish("clicks")
        minutes = Counter(second // 60 for second in seconds)
        assert run.panes("count") == [on_time("all", minutes[number], *minute(number)) for number in range(4)]
        assert run.late_dropped("count") == 0
