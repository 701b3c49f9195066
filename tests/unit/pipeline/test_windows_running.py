"""Pipelines with event time and windows, run in this process: what comes out, and what is late."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from support.pipelines.scripted import ScriptedSource

from heronpy import UserError
from heronpy.kernel.config import load_config
from heronpy.kernel.plans import Source
from heronpy.loading.running import open_runner, plan_for
from heronpy.pipeline import (
    Context,
    Pipeline,
    Stream,
    Window,
    Windows,
    agg,
    sinks,
    sliding,
    sources,
    tumbling,
)
from heronpy.pipeline.watermarks import ARRIVAL, SOURCE, Watermarks
from heronpy.stages import in_process

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def at(second: int) -> datetime:
    return NOON + timedelta(seconds=second)


def by_split(p: Pipeline, source: ScriptedSource, **how: Any) -> Stream[tuple[str, int]]:
    """Pairs of user and second."""
    stream: Stream[tuple[str, int]] = p.read(source)
    return stream.event_time(lambda click: at(click[1]), **{"lag": "0s", **how})


def clicks_of(*chunks: tuple[str, list[int]]) -> ScriptedSource:
    return ScriptedSource(*((split, [("ann", second) for second in seconds]) for split, seconds in chunks))


def counts(p: Pipeline, source: ScriptedSource, **how: Any) -> tuple[list[Any], list[Any]]:
    """(second at which the window ends, count, timing) of windows of ten seconds; and what was late."""
    kept, late = sinks.collected(), sinks.collected()
    results = by_split(p, source, **how).key_by(lambda click: click[0]).window(tumbling("10s")).count()
    results.map(lambda r: ((r.window.end - NOON).seconds, r.value, r.pane.timing)).write(kept)
    results.late.write(late)
    p.run()
    return kept.records, late.records


def test_the_slowest_split_is_waited_for() -> None:
    """The first split is at 25 when the second brings 3: nothing is late."""
    found, late = counts(Pipeline("p"), clicks_of(("a", [1, 25]), ("b", [3]), ("a", [26]), ("b", [27])))
    assert (found, late) == ([(10, 2, "on_time"), (30, 3, "on_time")], [])


def test_what_comes_behind_the_watermark_of_its_only_split_is_late() -> None:
    found, late = counts(Pipeline("p"), clicks_of(("a", [1, 12]), ("a", [3]), ("a", [13])))
    assert (found, late) == ([(10, 1, "on_time"), (20, 2, "on_time")], [("ann", 3)])


def test_a_lag_keeps_what_is_out_of_order() -> None:
    found, late = counts(Pipeline("p"), clicks_of(("a", [1, 12]), ("a", [3]), ("a", [13])), lag="5s")
    assert (found, late) == ([(10, 2, "on_time"), (20, 2, "on_time")], [])


def test_a_source_that_knows_its_watermark_is_believed() -> None:
    micros = int(NOON.timestamp()) * 1_000_000
    source = ScriptedSource(
        ("a", [("ann", 1), ("ann", 12)]),
        ("a", [("ann", 3)]),
        ("a", [("ann", 13)]),
        watermarks=[micros + 3_000_000, micros + 12_000_000, None],
    )
    found, late = counts(Pipeline("p"), source, lag=SOURCE)
    assert (found, late) == ([(10, 2, "on_time"), (20, 2, "on_time")], [])


class Careless(Watermarks):
    """Goes back, which the step does not let it."""

    def __init__(self) -> None:
        self._last = 0

    def on_record(self, time: int) -> None:
        self._last = time

    def current(self, now: int, caught_up: bool) -> int:
        return self._last


def test_a_watermark_never_goes_back() -> None:
    chunks = clicks_of(("a", [12]), ("a", [3]), ("a", [4]), ("a", [13]))
    found, late = counts(Pipeline("p"), chunks, lag=Careless())
    assert (found, late) == ([(20, 2, "on_time")], [("ann", 3), ("ann", 4)])


def test_records_that_are_filtered_out_move_time_all_the_same() -> None:
    p, kept = Pipeline("p"), sinks.collected()
    source = clicks_of(("a", [1]), ("a", [30]), ("a", [2]))
    early = by_split(p, source).filter(lambda click: click[1] < 10)
    early.window(tumbling("10s")).count().map(lambda r: r.value).write(kept)
    p.run()
    assert kept.records == [1]


def test_results_of_a_window_are_on_time_for_the_next() -> None:
    """Counts of ten seconds, added up for each minute: as many as there are records."""
    p, kept = Pipeline("p"), sinks.collected()
    source = clicks_of(*(("a", [second]) for second in range(0, 180, 3)))
    counts = by_split(p, source).key_by(lambda click: click[0]).window(tumbling("10s")).count()
    sums = counts.key_by(lambda r: r.key).window(tumbling("1m")).sum(lambda r: r.value)
    sums.map(lambda r: r.value).write(kept)
    p.run()
    assert kept.records == [20, 20, 20]


def test_retractions_are_deducted_behind_the_window_that_makes_them() -> None:
    """A late click corrects its window, and the sum over all users of that window."""
    p, kept = Pipeline("p"), sinks.collected()
    source = ScriptedSource(("a", [("ann", 1), ("bob", 2), ("bob", 15)]), ("a", [("ann", 3)]))
    per_user = by_split(p, source).key_by(lambda click: click[0])
    counts = per_user.window(tumbling("10s"), lateness="1m", panes="retracting").count()
    total = counts.by_window().sum(lambda r: r.value)
    total.map(lambda r: (r.value, r.pane.timing)).write(kept)
    p.run()
    assert kept.records[0] == (2, "on_time")
    assert kept.records[-2:] == [(3, "late"), (1, "on_time")]


def test_steps_between_keep_the_time_of_their_record() -> None:
    p, kept = Pipeline("p"), sinks.collected()
    names = p.read(sources.items([("ann", "Ann"), ("bob", "Bob")]))

    def numbered(seen: list[int], name: str, context: Context[str]) -> list[tuple[str, int]]:
        seen.append(1)
        return [(name, len(seen))]

    source = ScriptedSource(("a", [("ann", 1), ("bob", 12)]), ("a", [("ann", 14), ("eve", 15), ("ann", 16)]))
    stream = (
        by_split(p, source)
        .hash_join(names, on=lambda click: click[0], key=lambda row: row[0])
        .map(lambda pair: pair[1][1])
        .flat_map(lambda name: [name, name.upper()])
        .partition(str.isupper)[1]
        .key_by(lambda name: name)
        .process(list[int], numbered)
    )
    stream.window(tumbling("10s")).collect().map(lambda r: (r.window.end, r.value)).write(kept)
    p.run()
    assert kept.records == [
        (at(10), [("Ann", 1)]),
        (at(20), [("Bob", 1), ("Ann", 2), ("Ann", 3)]),
    ]


class Quarters(Windows):
    """Windows of one's own: by what a record says."""

    def assign(self, value: Any, time: datetime) -> list[Window]:
        start = time.replace(minute=time.minute // 15 * 15, second=0, microsecond=0)
        return [Window(start, start + timedelta(minutes=15))] if value[0] == "ann" else []


def test_windows_of_ones_own_and_joins_in_windows() -> None:
    p, kept, pairs = Pipeline("p"), sinks.collected(), sinks.collected()
    source = ScriptedSource(("a", [("ann", 1), ("bob", 2), ("ann", 899), ("ann", 900)]))
    clicks = by_split(p, source)
    clicks.window(Quarters()).count().map(lambda r: (r.window.start.minute, r.value)).write(kept)
    bobs = clicks.filter(lambda click: click[0] == "bob").key_by(lambda click: click[1] // 10)
    anns = clicks.filter(lambda click: click[0] == "ann").key_by(lambda click: click[1] // 10)
    joined = anns.window(sliding("10s", every="5s")).join(bobs, how="left")
    joined.map(lambda r: r.value).write(pairs)
    p.run()
    assert kept.records == [(0, 2), (15, 1)]
    assert pairs.records.count((("ann", 1), ("bob", 2))) == 2
    assert pairs.records.count((("ann", 899), None)) == 2


def test_time_means_nothing_to_what_speaks_at_the_end() -> None:
    p, kept = Pipeline("p"), sinks.collected()
    clicks = by_split(p, clicks_of(("a", [1, 2]))).key_by(lambda click: click[0])
    clicks.count().write(kept)
    clicks.rolling(agg.count()).key_by(lambda pair: pair[0]).join(clicks).write(kept)
    p.run()
    assert sorted(map(str, kept.records)) == [
        "('ann', 2)",
        *(f"Result(key='ann', value=(('ann', {n}), ('ann', {s})))" for n in (1, 2) for s in (1, 2)),
    ]


@pytest.mark.parametrize(
    ("time", "how", "message"),
    [
        (1731700000, {}, "1731700000 has no unit: event_time(…, unit='s'), or an aware datetime"),
        (1731700000123, {}, "1731700000123 has no unit: event_time(…, unit='ms'), or an aware datetime"),
        (datetime(2026, 1, 1), {}, "2026-01-01 00:00:00 has no time zone: use an aware datetime, as"),
    ],
)
def test_a_time_that_is_none_is_named_at_the_first_record(time: Any, how: Any, message: str) -> None:
    p = Pipeline("p")
    timed = p.read(sources.items([time])).event_time(lambda value: value, lag="0s", name="timed", **how)
    timed.write(sinks.printed())
    with pytest.raises(UserError) as failed:
        p.run()
    assert str(failed.value).startswith("step 'timed' failed at test_windows_running.py")
    assert message in str(failed.value)


def test_records_may_have_the_time_at_which_they_come() -> None:
    p, kept = Pipeline("p"), sinks.collected()
    arrived = p.read(sources.items([1, 2, 3])).event_time(lambda n: n, lag=ARRIVAL)
    arrived.window(tumbling("1h")).count().map(lambda r: r.value).write(kept)
    p.run()
    assert sum(kept.records) == 3


def test_classes_are_told_apart_behind_event_time_too() -> None:
    p, kept = Pipeline("p"), sinks.collected()
    stream: Stream[tuple[str, int] | str] = by_split(p, clicks_of(("a", [1, 12]))).flat_map(
        lambda c: [c, "x"]
    )
    stream.only(tuple).map(lambda click: click[1]).write(kept)
    stream.only(str).filter(lambda text: text == "x").write(kept, name="texts")
    p.run()
    assert sorted(kept.records, key=str) == [1, 12, "x", "x"]


def test_late_records_of_a_window_that_retracts_are_not_taken_back() -> None:
    p, kept, counted = Pipeline("p"), sinks.collected(), sinks.collected()
    timed = by_split(p, clicks_of(("a", [1, 12]), ("a", [3])))
    late = timed.window(tumbling("10s"), panes="retracting").count().late
    late.map(lambda click: click[1]).write(kept)
    late.window(tumbling("10s"), lateness="10s").collect().map(lambda r: r.value).write(counted, name="all")
    p.run()
    assert (kept.records, counted.records) == ([3], [[("ann", 3)]])


def test_a_program_says_what_it_dropped(capfd: pytest.CaptureFixture[str]) -> None:
    p = Pipeline("clicks")
    source = clicks_of(("a", [1, 12]), ("a", [3]))
    by_split(p, source).window(tumbling("10s")).count(name="counts").write(sinks.collected())
    p.run()
    assert capfd.readouterr() == (
        "",
        "clicks: counts: dropped 1 late record (latest 2s behind; lateness='5s' would have kept 1)\n",
    )


def test_what_was_dropped_is_in_the_totals_with_what_would_have_kept_it() -> None:
    p, kept = Pipeline("p"), sinks.collected()
    source = clicks_of(("a", [1, 12]), ("a", [3]), ("a", [13]))
    by_split(p, source).window(tumbling("10s")).count(name="counts").write(kept)
    with open_runner("local", load_config()) as runner:
        totals = runner.run(plan_for(runner, p.graph()), Source())
    assert totals.late == (
        "counts: dropped 1 late record (latest 2s behind; lateness='5s' would have kept 1)",
    )


def test_a_split_that_runs_ahead_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second half of the items has a minute from each to the next, the first a second."""
    monkeypatch.setattr(in_process, "BATCH", 1)
    seconds = [*range(100), *range(0, 6_000, 60)]
    p, kept = Pipeline("p"), sinks.collected()
    read = p.read(sources.items(list(enumerate(seconds)), parts=2))
    read.event_time(lambda item: at(item[1]), lag="0s", ahead="10m").write(kept)
    p.run()
    assert sorted(kept.records) == list(enumerate(seconds))
    slow = [place for place, (number, _) in enumerate(kept.records) if number < 100]
    before = [second for number, second in kept.records[: slow[-1]] if number >= 100]
    # until the slow one has ended, the other is not read further than ten minutes ahead of it
    assert max(before) == 660


def test_a_record_from_the_future_is_aside_and_moves_no_watermark() -> None:
    p, kept, errors = Pipeline("p"), sinks.collected(), sinks.collected()
    timed = by_split(p, clicks_of(("a", [1, 10**9]), ("a", [2]), ("a", [13])), future="1h", on_error="aside")
    timed.window(tumbling("10s")).count().map(lambda r: (r.value, r.pane.timing)).write(kept)
    timed.errors.map(lambda failed: failed.record).write(errors)
    p.run()
    assert (kept.records, errors.records) == ([(2, "on_time"), (1, "on_time")], [("ann", 10**9)])


def test_duplicates_are_those_that_are_near_in_event_time() -> None:
    p, kept = Pipeline("p"), sinks.collected()
    source = clicks_of(("a", [1, 3, 9]), ("a", [11, 12]), ("a", [40, 31, 29]), ("a", [100]))
    by_split(p, source).key_by(lambda click: click[0]).dedup(within="10s").write(kept)
    p.run()
    assert [second for _, second in kept.records] == [1, 11, 40, 29, 100]


@pytest.mark.parametrize("batch", [1, 7, 4096])
@pytest.mark.parametrize("parts", [1, 3])
def test_results_do_not_depend_on_how_the_input_was_cut(
    monkeypatch: pytest.MonkeyPatch, parts: int, batch: int
) -> None:
    """Records are up to 9 s out of order in their split, and each split begins where another has ended."""
    monkeypatch.setattr(in_process, "BATCH", batch)
    seconds = [second + 3 * (second * 7 % 4) for second in range(120)]
    p, kept = Pipeline("p"), sinks.collected()
    read = p.read(sources.items(seconds, parts=parts))
    timed = read.event_time(at, lag="9s").key_by(lambda second: second % 2)
    counts = timed.window(sliding("20s", every="10s")).count()
    counts.map(lambda r: (r.key, (r.window.end - NOON).seconds, r.value)).write(kept)
    p.run()
    expected = [
        (key, end, count)
        for end in range(10, 160, 10)
        for key in (0, 1)
        if (count := sum(end - 20 <= second < end and second % 2 == key for second in seconds))
    ]
    assert sorted(kept.records) == sorted(expected)
