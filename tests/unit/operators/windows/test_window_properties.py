"""What holds for all input: order changes nothing, windows that slide cost what slices cost, modes agree."""

from __future__ import annotations

import bisect
import pickle
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.pipelines.counted_aggregate import counted
from support.pipelines.window_script import SECOND, WindowScript, op_of

from heronpy.pipeline import Aggregate, agg
from heronpy.pipeline.times import to_micros
from heronpy.pipeline.triggers import Trigger, all_of, any_of, at_count, at_watermark, every, in_turn
from heronpy.pipeline.windows import Windows, everything, sessions, sliding, tumbling

#: (event time in seconds, value, key)
records = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 9), st.sampled_from("ab")), max_size=30)
#: where a watermark comes: behind which record, as seconds behind the largest time so far
WINDOWS = {
    "tumbling": tumbling("7s"),
    "with an offset": tumbling("7s", offset="2s"),
    "sliding": sliding("10s", every="5s"),
    "uneven": sliding("10s", every="4s"),
    "sessions": sessions("4s"),
    "everything": everything(),
}
kinds = st.sampled_from(sorted(WINDOWS))


def played(script: WindowScript, arrivals: list[tuple[int, int, str]], lag: int) -> list[Any]:
    """Records in their order of arrival, each followed by the watermark; the clock goes on by 1 s."""
    largest = -1
    for now, (time, value, key) in enumerate(arrivals):
        script.step.clock(now * SECOND)
        script.record(time * SECOND, value, key)
        largest = max(largest, time)
        script.step.advance((largest - lag) * SECOND)
    return script.finish()


def last_panes(results: list[Any]) -> dict[Any, Any]:
    """The last word on each window of each key; of sessions, windows that have become others are gone."""
    found: dict[Any, Any] = {}
    for result in results:
        if result.retracts:
            found.pop((result.key, result.window), None)
        else:
            found[result.key, result.window] = result.value
    return found


def folded(windows: Windows, arrivals: list[tuple[int, int, str]]) -> dict[Any, int]:
    """Sums per key and window, by plain Python over all input: sessions by sorting and cutting at gaps."""
    sums: dict[Any, int] = defaultdict(int)
    if windows == sessions("4s"):
        for key in "ab":
            times = sorted((time, value) for time, value, of in arrivals if of == key)
            begin = 0
            for index in range(1, len(times) + 1):
                if index == len(times) or times[index][0] - times[index - 1][0] >= 4:
                    bounds = times[begin][0] * SECOND, (times[index - 1][0] + 4) * SECOND
                    sums[key, bounds] = sum(value for _, value in times[begin:index])
                    begin = index
        return dict(sums)
    for time, value, key in arrivals:
        for bounds in windows.bounds(value, time * SECOND):
            sums[key, bounds] += value
    return dict(sums)


def in_bounds(panes: dict[Any, Any]) -> dict[Any, Any]:
    return {
        (key, (to_micros(window.start), to_micros(window.end))): value
        for (key, window), value in panes.items()
    }


@given(kind=kinds, arrivals=records, lag=st.integers(0, 70))
def test_the_last_panes_are_a_fold_over_the_whole_input_in_whatever_order_it_came(
    kind: str, arrivals: list[tuple[int, int, str]], lag: int
) -> None:
    op = op_of(WINDOWS[kind], lateness=100 * SECOND, panes="retracting")
    results = played(WindowScript(op), arrivals, lag)
    assert in_bounds(last_panes(results)) == folded(WINDOWS[kind], arrivals)
    assert all(result.pane.timing != "early" for result in results)


@given(kind=kinds, arrivals=records)
def test_without_disorder_beyond_the_lag_each_window_speaks_once_and_nothing_is_late(
    kind: str, arrivals: list[tuple[int, int, str]]
) -> None:
    script = WindowScript(op_of(WINDOWS[kind]))
    results = played(script, arrivals, 61)
    assert {(r.pane.index, r.pane.timing, r.pane.last) for r in results} <= {(0, "on_time", True)}
    assert in_bounds(last_panes(results)) == folded(WINDOWS[kind], arrivals)
    assert len(results) == len(last_panes(results))
    assert script.aside == []


@given(arrivals=records, lag=st.integers(0, 20), lateness=st.integers(0, 20))
def test_a_record_is_in_all_its_windows_or_aside(
    arrivals: list[tuple[int, int, str]], lag: int, lateness: int
) -> None:
    script = WindowScript(op_of(tumbling("7s"), agg.count(), lateness=lateness * SECOND, panes="discarding"))
    results = played(script, arrivals, lag)
    assert sum(result.value for result in results) + len(script.aside) == len(arrivals)


TRIGGERS: dict[str, Trigger] = {
    "at_watermark": at_watermark(),
    "early and late": at_watermark(early=every("3s"), late=at_count(2)),
    "every": every("5s"),
    "count": at_count(3),
    "any": any_of(at_count(4), every("3s")),
    "all": all_of(at_count(2), every("2s")),
    "in turn": in_turn(at_count(1), at_count(3).until(every("20s")), at_watermark()),
}


@settings(max_examples=200)
@given(trigger=st.sampled_from(sorted(TRIGGERS)), kind=kinds, arrivals=records, lag=st.integers(0, 30))
def test_modes_agree_and_no_trigger_loses_a_record(
    kind: str, trigger: str, arrivals: list[tuple[int, int, str]], lag: int
) -> None:
    def panes(mode: str) -> list[Any]:
        op = op_of(WINDOWS[kind], trigger=TRIGGERS[trigger], lateness=100 * SECOND, panes=mode)
        return played(WindowScript(op), arrivals, lag)

    retracted: Counter[Any] = Counter()
    for result in panes("retracting"):
        retracted[result.key] += -result.value if result.retracts else result.value
    discarded: Counter[Any] = Counter()
    for result in panes("discarding"):
        discarded[result.key] += result.value
    assert discarded == retracted
    if kind != "sessions":  # where windows become others, only retractions say so
        sums: Counter[Any] = Counter()
        for (key, _), value in last_panes(panes("accumulating")).items():
            sums[key] += value
        assert sums == retracted


def _update(one: Counter[int], other: Counter[int]) -> Counter[int]:
    """Changes the accumulator that it is given, as folds do."""
    one.update(other)
    return one


def _counted_in(one: Counter[int], value: int) -> Counter[int]:
    one[value] += 1
    return one


@dataclass
class Box:
    """An accumulator of the user's own class."""

    values: list[int] = field(default_factory=list)

    def put(self, value: int) -> Box:
        bisect.insort(self.values, value)
        return self

    def take_in(self, other: Box) -> Box:
        self.values[:] = sorted(self.values + other.values)
        return self


AGGREGATES: dict[str, Aggregate[int, Any, Any]] = {
    "sum": agg.sum(lambda value: value),
    "mean": agg.mean(lambda value: value),
    "max": agg.max(lambda value: value),
    "top": agg.top(2, by=lambda value: value),
}
CHANGING: dict[str, Aggregate[int, Any, Any]] = {
    "fold": agg.fold(Counter[int], _counted_in, _update),
    "fold among others": agg.of(n=agg.count(), each=agg.fold(Counter[int], _counted_in, _update)),
    "fold of a class": agg.fold(Box, Box.put, Box.take_in),
}


@settings(max_examples=200)
@given(
    name=st.sampled_from(sorted(AGGREGATES | CHANGING)),
    panes=st.sampled_from(["accumulating", "discarding", "retracting"]),
    arrivals=records,
    lag=st.integers(0, 30),
    lateness=st.sampled_from([0, 3, 30]),
)
def test_slices_show_what_a_copy_for_each_window_shows(
    name: str, panes: str, arrivals: list[tuple[int, int, str]], lag: int, lateness: int
) -> None:
    for windows in (sliding("10s", every="5s"), sliding("10s", every="4s")):
        op = op_of(windows, (AGGREGATES | CHANGING)[name], lateness=lateness * SECOND, panes=panes)
        by_slices, by_copies = WindowScript(op), WindowScript(op, copies=True)

        def order(result: Any) -> Any:
            return result.key, result.window, result.pane.index, not result.retracts

        slices = sorted(played(by_slices, arrivals, lag), key=order)
        assert slices == sorted(played(by_copies, arrivals, lag), key=order)
        assert by_slices.aside == by_copies.aside


@pytest.mark.parametrize("name", AGGREGATES | CHANGING)
def test_a_slide_costs_at_most_three_combines_per_key(name: str) -> None:
    """30 minutes every 5 seconds, for an hour of one record each second: 360 windows have each record."""
    calls: Counter[str] = Counter()
    aggregate = (AGGREGATES | CHANGING)[name]
    script = WindowScript(op_of(sliding("30m", every="5s"), counted(aggregate, calls)))
    seconds = 3600
    for second in range(seconds):
        script.record(second * SECOND, second % 11)
        script.step.advance(second * SECOND)
    slides = len(script.finish())
    assert slides == seconds // 5 + 359
    assert calls["add"] == seconds
    assert calls["combine"] + calls["deduct"] <= 3 * slides
    if aggregate.deduct is not None:
        assert calls["combine"] + calls["deduct"] <= 2 * slides


@pytest.mark.parametrize("mean", [False, True])
def test_a_large_number_that_leaves_a_window_takes_nothing_with_it(mean: bool) -> None:
    by: Callable[[float], float] = lambda value: value  # noqa: E731 - as users write it
    for large in (1e16, float("inf")):
        script = WindowScript(op_of(sliding("2s", every="1s"), agg.mean(by) if mean else agg.sum(by)))
        for second, value in enumerate([0, large, 1, 1, 1]):
            script.record(second * SECOND, value)
        sums = [0, large, large, 2, 2, 1]
        means = [0, large / 2, large / 2, 1, 1, 1]
        assert [result.value for result in script.finish()] == (means if mean else sums)


@pytest.mark.parametrize("panes", ["accumulating", "retracting", "discarding"])
def test_panes_of_a_fold_stay_what_they_were(panes: str) -> None:
    shown: dict[str, list[list[int]]] = {
        "accumulating": [[7], [7, 8], [7, 8, 9]],
        "retracting": [[7], [7], [7, 8], [7, 8], [7, 8, 9]],
        "discarding": [[7], [8], [9]],
    }
    of_box = WindowScript(
        op_of(tumbling("10s"), CHANGING["fold of a class"], trigger=at_count(1), panes=panes)
    )
    counted = WindowScript(op_of(tumbling("10s"), CHANGING["fold"], trigger=at_count(1), panes=panes))
    for value in (7, 8, 9):
        of_box.record(0, value)
        counted.record(0, value)
    assert [result.value for result in of_box.finish()] == [Box(values) for values in shown[panes]]
    assert [result.value for result in counted.finish()] == [Counter(values) for values in shown[panes]]


def test_a_jump_of_fifty_years_costs_what_has_data() -> None:
    calls: Counter[str] = Counter()
    script = WindowScript(op_of(sliding("10s", every="5s"), counted(agg.count(), calls)))
    script.record(0, 1)
    script.record(50 * 365 * 86_400 * SECOND, 1)
    assert [result.value for result in script.finish()] == [1, 1, 1, 1]
    assert sum(calls.values()) == 2


def test_slices_of_a_microsecond_cost_what_has_data() -> None:
    """A month and a slide that is shorter by a microsecond have no larger part in common."""
    month = timedelta(days=30)
    op = op_of(sliding(month, every=month - timedelta(microseconds=1)), agg.count(), lateness=10 * SECOND)
    script = WindowScript(op)
    script.record(SECOND, 1)
    script.record(3 * SECOND, 1)
    script.step.advance(to_micros(datetime(1970, 1, 31, 0, 0, 1, tzinfo=UTC)))
    script.record(2 * SECOND, 1)
    assert [result.value for result in script.finish()] == [2, 3]


@given(kind=kinds, arrivals=records, lag=st.integers(0, 30), cut=st.integers(0, 30))
def test_what_is_kept_of_a_key_can_be_pickled_at_any_moment(
    kind: str, arrivals: list[tuple[int, int, str]], lag: int, cut: int
) -> None:
    op = op_of(WINDOWS[kind], trigger=TRIGGERS["early and late"], lateness=10 * SECOND)
    whole, moved = WindowScript(op), WindowScript(op)
    largest = -1
    for now, (time, value, key) in enumerate(arrivals):
        largest = max(largest, time)
        for script in (whole, moved):
            script.step.clock(now * SECOND)
            script.record(time * SECOND, value, key)
            script.step.advance((largest - lag) * SECOND)
        if now == cut:
            for of, state in moved.step.states.items():
                moved.step.states[of] = pickle.loads(pickle.dumps(state))
    assert moved.finish() == whole.finish()
