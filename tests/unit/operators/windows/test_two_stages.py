"""An aggregate in windows in two stages shows what it shows in one, and costs less."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.pipelines.counted_aggregate import counted
from support.pipelines.window_script import SECOND, WindowScript, op_of

from heronpy import Pipeline
from heronpy.operators.failing import Failing, StepFailed
from heronpy.operators.stamped import Stamped
from heronpy.operators.windows import window_partials
from heronpy.operators.windows.window_panes import WindowPartial
from heronpy.operators.windows.window_partials import WindowPartials
from heronpy.pipeline import Aggregate, Stream, agg, everything, sinks, sliding, sources, tumbling
from heronpy.pipeline.graph import Site, Step, WindowOp
from heronpy.pipeline.times import END
from heronpy.pipeline.triggers import at_watermark, every
from heronpy.planner import planning

WINDOWS = {
    "tumbling": tumbling("7s"),
    "with an offset": tumbling("7s", offset="2s"),
    "sliding": sliding("10s", every="5s"),
    "uneven": sliding("10s", every="4s"),
    "everything": everything(),
}
AGGREGATES: dict[str, Aggregate[Any, Any, Any]] = {
    "sum": agg.sum(lambda value: value),
    "max": agg.max(lambda value: value),
    "set": agg.to_set(),
    "several": agg.of(n=agg.count(), mean=agg.mean(lambda value: value)),
}


class Producer:
    """The first stage of a task, with what has left it."""

    def __init__(self, op: WindowOp) -> None:
        step = Step("windowed", op, (), bounded=True, site=Site("script.py", 1))
        self.rows: list[Any] = []
        self.step = WindowPartials(op, self.rows.extend, Failing(step))

    def take(self, *records: tuple[int, Any, Any]) -> None:
        """(second, value, key)"""
        self.step.take(0, [(key, Stamped(time * SECOND, value)) for time, value, key in records])

    def fetch(self) -> list[Any]:
        rows, self.rows[:] = self.rows[:], []
        return rows

    def due(self) -> int | None:
        return self.step.due

    def partials(self) -> list[tuple[Any, Any, int]]:
        """(key, accumulator, number of records); a record that passed has none."""
        return [
            (key, value.accumulator, value.records) if isinstance(value, WindowPartial) else (key, value, 0)
            for key, (_, value, _) in self.fetch()
        ]


#: (producer, second, value, key, what follows it)
steps = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.integers(0, 60),
        st.integers(1, 9),
        st.sampled_from("ab"),
        st.sampled_from(["", "watermark", "barrier"]),
    ),
    max_size=40,
)


@settings(max_examples=300)
@given(
    kind=st.sampled_from(sorted(WINDOWS)),
    name=st.sampled_from(sorted(AGGREGATES)),
    panes=st.sampled_from(["accumulating", "discarding", "retracting"]),
    script=steps,
    lag=st.integers(0, 30),
    lateness=st.sampled_from([0, 3, 30]),
)
def test_two_stages_show_what_one_shows(
    kind: str, name: str, panes: str, script: list[Any], lag: int, lateness: int
) -> None:
    """Two tasks make the records, each as far as its own; a barrier finds nothing held."""
    op = op_of(WINDOWS[kind], AGGREGATES[name], lateness=lateness * SECOND, panes=panes)
    one, two = WindowScript(op, reads_late=False), WindowScript(op, reads_late=False)
    producers, newest, said = [Producer(op), Producer(op)], [-100, -100], [-1000, -1000]
    for index, time, value, key, then in script:
        producer = producers[index]
        one.record(time * SECOND, value, key)
        producer.take((time, value, key))
        newest[index] = max(newest[index], time)
        if then == "barrier":
            producer.step.end()
            assert producer.step._slices == {}
        elif then == "watermark":
            said[index] = newest[index] - lag
            producer.step.advance(said[index] * SECOND)
        two.step.take(0, producer.fetch())
        if then == "watermark":
            for consumer in (one, two):
                consumer.step.advance(min(said) * SECOND)
    for producer in producers:
        producer.step.advance(END)
        two.step.take(0, producer.fetch())

    def order(result: Any) -> Any:
        return result.key, result.window, result.pane.index, not result.retracts

    assert sorted(two.finish(), key=order) == sorted(one.finish(), key=order)
    assert two.step.late.dropped == one.step.late.dropped


@pytest.mark.parametrize("name", ["sum", "max"])
def test_a_slide_costs_at_most_three_combines_per_key(name: str) -> None:
    """30 minutes every 5 seconds, for an hour of ten records each second, of which watermarks know."""
    calls: Counter[str] = Counter()
    op = op_of(sliding("30m", every="5s"), counted(AGGREGATES[name], calls))
    producer, consumer = Producer(op), WindowScript(op)
    left = 0
    for second in range(3600):
        producer.take(*((second, second % 11, "k") for _ in range(10)))
        producer.step.advance(second * SECOND)
        rows = producer.fetch()
        left += len(rows)
        consumer.step.take(0, rows)
        consumer.step.advance(second * SECOND)
    producer.step.advance(END)
    consumer.step.take(0, producer.fetch())
    slides = len(consumer.finish())
    assert slides == 720 + 359
    assert left == 719, "one row for each slice that was complete"
    assert calls["add"] == 36_000
    assert calls["combine"] + calls["deduct"] <= 3 * slides


def test_a_slice_is_handed_on_before_a_watermark_that_completes_it() -> None:
    producer = Producer(op_of(tumbling("10s")))
    producer.take((1, 5, "a"), (12, 7, "a"), (3, 2, "a"), (4, 1, "b"))
    producer.step.advance(9 * SECOND)
    assert producer.partials() == []
    producer.step.advance(11 * SECOND)
    assert producer.partials() == [("a", 7, 2), ("b", 1, 1)]
    producer.take((2, 9, "a"), (13, 1, "a"))
    assert producer.partials() == [("a", 9, 0)], "what comes later passes as it is"
    producer.step.end()
    assert producer.partials() == [("a", 8, 2)]


def test_where_a_trigger_speaks_early_nothing_is_held_for_long() -> None:
    producer = Producer(op_of(tumbling("1m"), trigger=at_watermark(early=every("1s"))))
    producer.step.clock(SECOND)
    assert producer.due() is None
    producer.take((1, 5, "a"))
    assert producer.due() == SECOND + window_partials.LINGER
    producer.step.clock(SECOND + window_partials.LINGER - 1)
    producer.take((2, 6, "a"))
    assert producer.partials() == []
    producer.step.clock(SECOND + window_partials.LINGER)
    assert producer.partials() == [("a", 11, 2)]
    assert producer.due() is None


def test_where_holding_saves_nothing_records_pass_and_it_is_tried_again() -> None:
    producer = Producer(op_of(tumbling("1h")))
    producer.take(*((second % 60, 1, second) for second in range(window_partials.JUDGED)))
    assert len(producer.partials()) == window_partials.JUDGED, "each has a key of its own"
    producer.take((1, 5, "a"), (2, 5, "a"))
    assert producer.partials() == [("a", 5, 0), ("a", 5, 0)]
    producer.step.clock(window_partials.LATER)
    producer.take((1, 5, "a"), (2, 5, "a"))
    assert producer.partials() == []
    producer.take(*((second % 60, 1, second % 100) for second in range(window_partials.JUDGED)))
    assert producer.partials() == [], "a hundred keys are few"


def test_what_is_held_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window_partials, "MOST", 3)
    producer = Producer(op_of(tumbling("1h")))
    producer.take((1, 5, "a"), (2, 5, "b"))
    assert producer.partials() == []
    producer.take((1, 5, "c"))
    assert producer.partials() == [("a", 5, 1), ("b", 5, 1), ("c", 5, 1)]


def test_a_record_that_cannot_be_added_is_named() -> None:
    producer = Producer(op_of(tumbling("1h")))
    with pytest.raises(StepFailed, match=r"step 'windowed' failed at .*, for the record 'five'"):
        producer.take((1, "five", "a"))


CLICKS = [(user, second) for second in range(0, 300, 3) for user in ("ann", "bob")[: 1 + second % 2]]


def ran(made: Any) -> list[Any]:
    p, kept = Pipeline("p"), sinks.collected()
    read = p.read(sources.items(CLICKS, parts=2))
    made(read.event_time(lambda click: click[1], unit="s", lag="5s")).write(kept)
    p.run()
    return sorted(kept.records)


def hottest(clicks: Stream[Any]) -> Stream[Any]:
    counts = clicks.key_by(lambda click: click[0]).window(sliding("30s", every="10s")).count()
    best = counts.by_window().maxima(lambda result: result.value)
    return best.flat_map(lambda r: [(r.window.end, one.key, one.value) for one in r.value])


def apart(clicks: Stream[Any]) -> Stream[Any]:
    """The same, with a stage of their own for steps that would share one."""
    return hottest(clicks.map(lambda click: click, par=3))


def test_plans_in_one_stage_and_in_two_fused_and_not_find_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [ran(hottest), ran(apart)]
    monkeypatch.setattr(planning, "lifted", lambda graph: graph)
    found += [ran(hottest), ran(apart)]
    assert found[0] == expected(CLICKS)
    assert found == [found[0]] * 4


def expected(clicks: Sequence[tuple[str, int]]) -> list[Any]:
    """By plain loops."""
    found = []
    for end in range(10, 330, 10):
        counts = Counter(user for user, second in clicks if end - 30 <= second < end)
        top = max(counts.values(), default=0)
        found += [
            (datetime.fromtimestamp(end, UTC), user, count) for user, count in counts.items() if count == top
        ]
    return sorted(found)
