"""Event time in a pipeline's test: late clicks, silent splits, timers; and faults at any moment."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heronpy import Pipeline
from heronpy.kernel.errors import UserError
from heronpy.pipeline import sessions, sinks, sliding, sources, tumbling
from heronpy.pipeline.records import Context, Timer
from heronpy.testing import PipelineTest, at, late, on_time

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def clicks(**how: Any) -> Pipeline:
    p = Pipeline("clicks")
    read = p.read(sources.items(list[str]()), name="clicks").filter(lambda name: name != "bot")
    timed = read.event_time(lambda _: 0, unit="s", lag="5s", **how)
    timed.key_by(str.lower).window(tumbling("1m"), lateness="1m").count(name="count").write(
        sinks.printed(), name="shown"
    )
    return p


def test_a_late_click_corrects_its_minute() -> None:
    with PipelineTest(clicks(), par=2) as run:
        run.feed("clicks", at("12:00:10", "ann"), at("12:00:50", "ann"))
        run.watermark("clicks", "12:01")
        run.feed("clicks", at("12:00:59", "ann"))
        run.watermark("clicks", "12:02")
        run.feed("clicks", at("12:00:59", "ann"))
        assert run.panes("count") == [on_time("ann", 2, "12:00", "12:01"), late("ann", 3, "12:00", "12:01")]
        assert run.late_dropped("count") == 1
        assert run.watermark_of("count") == datetime(2026, 1, 1, 12, 2, tzinfo=UTC)


def test_one_silent_split_holds_all_back_until_it_is_idle() -> None:
    with PipelineTest(clicks(idle="30s"), par=2, splits={"clicks": ["eu", "us"]}, now="12:00") as run:
        run.feed("clicks", at("12:00:10", "ann"), split="eu")
        run.watermark("clicks", "12:01", split="eu")
        assert run.panes("count") == []
        run.idle("clicks", split="us")
        assert run.panes("count") == [on_time("ann", 1, "12:00", "12:01")]
        run.feed("clicks", at("12:00:20", "ann"), split="us")
        run.advance("1s")
        assert run.panes("count")[1:] == [late("ann", 2, "12:00", "12:01")], "its records are late, not lost"


def test_what_an_idle_split_gave_before_is_in_its_windows() -> None:
    """The stage of the source holds accumulators: they leave before the stage says that it is idle."""
    with PipelineTest(clicks(idle="30s"), par=2, splits={"clicks": ["eu", "us"]}, now="18:00") as run:
        run.feed("clicks", at("12:00:20", "ann"), split="us")
        run.feed("clicks", at("12:00:10", "ann"), split="eu")
        run.watermark("clicks", "12:00:59", split="eu")
        run.idle("clicks", split="us")
        run.watermark("clicks", "12:01", split="eu")
        assert run.panes("count") == [on_time("ann", 2, "12:00", "12:01")]


def test_without_idle_a_silent_split_is_waited_for() -> None:
    with PipelineTest(clicks(), splits=2) as run:
        run.feed("clicks", at("12:00:10", "ann"))
        run.watermark("clicks", "12:05", split="0")
        run.advance("10m")
        assert run.panes("count") == []
        with pytest.raises(UserError, match="never idle"):
            run.idle("clicks")


def test_time_goes_on_where_all_records_are_filtered_out() -> None:
    with PipelineTest(clicks(), par=2) as run:
        run.feed("clicks", at("12:00:10", "ann"))
        run.feed("clicks", at("12:01:10", "bot"))
        run.watermark("clicks", "12:01:05")
        assert run.panes("count") == [on_time("ann", 1, "12:00", "12:01")]


def test_the_pipelines_own_watermark_follows_its_own_times() -> None:
    p = Pipeline("own")
    timed = p.read(sources.items(list[int]()), name="seconds").event_time(lambda s: s, unit="s", lag="5s")
    timed.key_by(lambda _: "k").window(tumbling("10s")).count(name="count").write(sinks.printed())
    with PipelineTest(p) as run:
        run.feed("seconds", 1, 8, 14)
        assert run.results("count") == []
        run.feed("seconds", 15)
        assert [(r.value, r.window.end.second) for r in run.results("count")] == [(2, 10)]


def seconds_of(**how: Any) -> Pipeline:
    """Numbers are seconds of the day of the test, from noon on."""
    p = Pipeline("seconds")
    read = p.read(sources.items(list[int]()), name="seconds")
    timed = read.event_time(lambda second: NOON + timedelta(seconds=second), lag="0s", **how)
    timed.write(sinks.printed(), name="read")
    timed.key_by(lambda _: "k").window(tumbling("1m")).count(name="count").write(sinks.printed())
    return p


def test_a_record_from_the_year_2100_does_not_close_the_world() -> None:
    with PipelineTest(seconds_of(future="1h"), par=2, now="12:00") as run:
        run.feed("seconds", 10, 74 * 365 * 86_400, 20)
        run.feed("seconds", 61)
        assert run.panes("count") == [on_time("k", 2, "12:00", "12:01")]
        assert run.late_dropped("count") == 0


def test_a_split_that_runs_ahead_is_read_when_the_other_has_come_after() -> None:
    with PipelineTest(seconds_of(ahead="10m"), splits={"seconds": ["fast", "slow"]}) as run:
        run.feed("seconds", 5, split="slow")
        run.feed("seconds", 10, 3000, 5999, 6000, split="fast")
        assert run.results("read") == [5, 10, 3000], "behind that it waits"
        run.feed("seconds", 2900, split="slow")
        assert run.results("read")[3:] == [2900, 5999]
        run.finish("seconds")
        assert [result.value for result in run.results("count")] == [2, 1, 1, 1, 1]


@dataclass
class Waiting:
    times: list[datetime] = field(default_factory=list)


def wait(state: Waiting, seconds: int, ctx: Context[int]) -> Iterator[tuple[int, str]]:
    ctx.timer(ctx.timestamp + timedelta(seconds=seconds), tag=str(len(state.times)))
    state.times.append(ctx.timestamp)
    yield from ()


def ring(state: Waiting, timer: Timer, ctx: Context[int]) -> Iterator[tuple[int, str, datetime]]:
    yield ctx.key, timer.tag, timer.at


def timers() -> Pipeline:
    p = Pipeline("timers")
    timed = p.read(sources.items(list[int]()), name="orders").event_time(lambda _: 0, unit="s", lag="0s")
    timed.key_by(lambda seconds: seconds % 7).process(Waiting, wait, on_timer=ring, name="waiting").write(
        sinks.printed(), name="rung"
    )
    return p


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_every_timer_fires_once_and_in_order_across_rescaling_and_crashes(seed: int | None) -> None:
    dice = random.Random(7)
    delays = [dice.randrange(1, 600) for _ in range(60)]
    with PipelineTest(timers(), par=1, splits=2, seed=seed) as run:
        run.feed("orders", *(at(f"12:00:{number % 60:02}", delay) for number, delay in enumerate(delays)))
        assert len(run.timers("waiting")) == 60
        for number, tasks in enumerate((3, 2, 1, 4)):
            run.watermark("orders", f"12:0{2 * number + 1}")
            run.rescale("waiting", tasks)
            if number == 1:
                run.checkpoint()
            run.crash("waiting" if number % 2 else "orders")
        run.watermark("orders", "12:30")
        assert run.timers("waiting") == []
        rung = run.results("waiting")
        expected = {
            (delay % 7, datetime(2026, 1, 1, 12, 0, number % 60, tzinfo=UTC) + timedelta(seconds=delay))
            for number, delay in enumerate(delays)
        }
        assert Counter((key, when) for key, _, when in rung).most_common(1)[0][1] == 1
        assert {(key, when) for key, _, when in rung} == expected
        for key in range(7):
            times = [when for owner, _, when in rung if owner == key]
            assert times == sorted(times)


def visits() -> Pipeline:
    """How often a name has come; who has not for ten minutes is forgotten."""
    p = Pipeline("visits")

    def count(state: Waiting, name: str, ctx: Context[str]) -> Iterator[tuple[str, int]]:
        state.times.append(ctx.timestamp)
        ctx.timer(ctx.timestamp + timedelta(hours=1))
        yield name, len(state.times)

    def never(state: Waiting, timer: Timer, ctx: Context[str]) -> Iterator[tuple[str, int]]:
        yield f"{ctx.key} was to be forgotten", len(state.times)

    timed = p.read(sources.items(list[str]()), name="names").event_time(lambda _: 0, unit="s", lag="0s")
    timed.key_by(str.lower).process(Waiting, count, on_timer=never, ttl="10m", name="count").write(
        sinks.printed()
    )
    return p


@pytest.mark.parametrize("mishaps", [[], ["crash"], ["rescale"], ["rescale", "crash"]])
def test_a_key_is_forgotten_after_its_time_wherever_it_is(mishaps: list[str]) -> None:
    with PipelineTest(visits(), par=1, splits=2) as run:
        run.feed("names", at("12:00", "ann"), at("12:00", "bob"), at("12:05", "bob"))
        run.watermark("names", "12:09")
        run.checkpoint()
        for mishap in mishaps:
            if mishap == "crash":
                run.crash("count")
            else:
                run.rescale("count", 3)
        run.watermark("names", "12:10")
        assert [key for key, _ in run.timers("count")] == ["bob"], "ann's timer has gone with her"
        run.feed("names", at("12:10", "ann"), at("12:14", "bob"))
        run.watermark("names", "14:00")
        wanted = Counter([("ann", 1), ("ann", 1), ("bob", 1), ("bob", 2), ("bob", 3)])
        assert Counter(run.results("count")) == wanted
        assert run.timers("count") == []


def test_alarms_go_by_the_clock_and_ring_once_after_a_crash() -> None:
    p = Pipeline("alarms")

    def set_alarm(state: Waiting, name: str, ctx: Context[str]) -> Iterator[str]:
        ctx.alarm("10s")
        yield f"{name} waits"

    def on_alarm(state: Waiting, timer: Timer, ctx: Context[str]) -> Iterator[str]:
        yield f"{ctx.key} has waited"

    names = p.read(sources.items(list[str]()), name="names").key_by(str.lower)
    names.process(Waiting, set_alarm, on_timer=on_alarm, name="waiting").write(sinks.printed())
    with PipelineTest(p, par=2, now="12:00") as run:
        run.feed("names", "ann")
        run.checkpoint()
        run.advance("9s")
        run.crash("waiting")
        assert run.results("waiting") == ["ann waits"]
        run.advance("1s")
        assert run.results("waiting") == ["ann waits", "ann has waited"]
        run.rescale("waiting", 1)
        run.advance("1m")
        assert run.results("waiting") == ["ann waits", "ann has waited"]


WINDOWS = {"tumbling": tumbling("10s"), "sliding": sliding("20s", every="5s"), "sessions": sessions("7s")}
FAULTS = ["checkpoint", "crash counts", "crash source", "rescale 1", "rescale 2", "rescale 3"]


def counts(windows: str) -> Pipeline:
    p = Pipeline("counts")
    timed = p.read(sources.items(list[int]()), name="source").event_time(lambda _: 0, unit="s", lag="5s")
    timed.key_by(lambda number: number % 5).window(WINDOWS[windows]).sum(lambda n: n, name="counts").write(
        sinks.printed(), name="shown"
    )
    return p


@settings(max_examples=12, deadline=None)
@given(
    windows=st.sampled_from(sorted(WINDOWS)),
    records=st.lists(st.tuples(st.integers(0, 59), st.integers(0, 99)), min_size=1, max_size=25),
    faults=st.lists(st.tuples(st.integers(0, 24), st.sampled_from(FAULTS)), max_size=5),
    seed=st.integers(0, 9),
)
def test_faults_anywhere_change_no_pane(
    windows: str, records: list[tuple[int, int]], faults: list[tuple[int, str]], seed: int
) -> None:
    """Records in disorder of up to 5 s, watermarks 5 s behind; the oracle is a run without faults."""
    ordered = sorted(records, key=lambda record: record[0] + random.Random(str(record)).random() * 5)

    def played(mishaps: list[tuple[int, str]], **kit: Any) -> Counter[Any]:
        with PipelineTest(counts(windows), splits=2, **kit) as run:
            newest = 0
            for number, (second, value) in enumerate(ordered):
                run.feed("source", at(f"12:00:{second:02}", value), split=str(number % 2))
                newest = max(newest, second)
                run.watermark("source", f"12:00:{max(0, newest - 5):02}")
                for when, mishap in mishaps:
                    if when == number:
                        befall(run, mishap)
            run.finish("source")
            run.checkpoint()
            assert run.late_dropped("counts") == 0
            assert sorted(map(repr, run.committed("shown"))) == sorted(map(repr, run.committed("counts")))
            return Counter((r.key, r.window, r.value, r.pane.timing) for r in run.committed("counts"))

    assert played(faults, par=2, seed=seed) == played([], par=1)


def befall(run: PipelineTest, mishap: str) -> None:
    match mishap.split():
        case ["checkpoint"]:
            run.checkpoint()
        case ["crash", step]:
            run.crash(step)
        case ["rescale", tasks]:
            run.rescale("counts", int(tasks))


def set_alarm(seen: list[str], name: str, context: Context[str]) -> list[str]:
    context.alarm("10s")
    return []


def ring_at(seen: list[str], timer: Timer, context: Context[str]) -> list[tuple[str, datetime]]:
    return [(context.key, context.timestamp)]


@pytest.mark.parametrize("fault", [(), (("checkpoint",), ("crash", "ring"), ("rescale", "ring", 3))])
def test_an_alarm_that_no_watermark_has_preceded_goes_into_the_window_of_its_record(
    fault: tuple[tuple[Any, ...], ...],
) -> None:
    """One of two splits is silent, so there is no watermark when the alarm rings."""
    p = Pipeline("bells")
    timed = p.read(sources.items(list[str]()), name="clicks").event_time(lambda _: 0, unit="s", lag="0s")
    rung = timed.key_by(str.lower, name="name").process(list[str], set_alarm, on_timer=ring_at, name="ring")
    rung.window(tumbling("1m")).count(name="count").write(sinks.printed())
    with PipelineTest(p, par=2, splits=2) as run:
        run.feed("clicks", at("12:00:10", "ann"), split="0")
        run.script(fault)
        run.advance("11s")
        assert run.results("ring") == [("ann", NOON + timedelta(seconds=10))]
        assert run.panes("count") == []
        run.finish("clicks")
        assert run.panes("count") == [on_time(None, 1, "12:00", "12:01")]
