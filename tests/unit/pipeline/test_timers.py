"""Timers in process: in event time and by the wall clock, in order, and forgotten with their key."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, assert_type

import pytest
from support.pipelines.scripted import ScriptedSource

from heronpy import UserError
from heronpy.operators.failing import Failing
from heronpy.operators.stamped import Stamped
from heronpy.operators.timed_processing import TimedProcessing
from heronpy.pipeline import Context, Pipeline, Stream, Timer, sinks, sources, tumbling
from heronpy.pipeline.graph import ProcessOp, Site, Step
from heronpy.pipeline.times import END, to_micros

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def at(second: int) -> datetime:
    return NOON + timedelta(seconds=second)


@dataclass
class Auction:
    """Bids until it closes, 10 seconds after the first."""

    bids: list[int] = field(default_factory=list)


Bid = tuple[str, int, int]


def bid(auction: Auction, one: Bid, context: Context[str]) -> Iterator[Any]:
    assert context.timestamp == at(one[1])
    if not auction.bids:
        context.timer(context.timestamp + timedelta(seconds=10), "close")
    auction.bids.append(one[2])
    yield from ()


def close(auction: Auction, timer: Timer, context: Context[str]) -> Iterator[Any]:
    yield context.key, timer.tag, max(auction.bids), (timer.at - NOON).seconds
    context.clear()


def timed(p: Pipeline, *chunks: list[Bid]) -> Stream[Bid]:
    stream: Stream[Bid] = p.read(ScriptedSource(*(("a", chunk) for chunk in chunks)))
    return stream.event_time(lambda one: at(one[1]), lag="0s")


def test_auctions_close_in_the_order_of_event_time_and_begin_anew() -> None:
    p, kept, windows = Pipeline("p"), sinks.collected(), sinks.collected()
    bids = timed(p, [("x", 1, 5), ("y", 0, 7)], [("x", 9, 8)], [("z", 12, 2)], [("y", 12, 3)], [("x", 30, 1)])
    closed = bids.key_by(lambda one: one[0]).process(Auction, bid, on_timer=close)
    assert_type(closed, Stream[Any])
    closed.write(kept)
    closed.window(tumbling("15s")).count().map(lambda r: (r.window.end, r.value)).write(windows)
    p.run()
    assert kept.records == [
        ("y", "close", 7, 10),
        ("x", "close", 8, 11),
        ("z", "close", 2, 22),
        ("y", "close", 3, 22),
        ("x", "close", 1, 40),
    ]
    assert windows.records == [(at(15), 2), (at(30), 2), (at(45), 1)]


def test_a_key_is_forgotten_when_nothing_came_for_its_time_to_live() -> None:
    p, kept = Pipeline("p"), sinks.collected()

    def count(seen: list[int], one: Bid, context: Context[str]) -> list[tuple[int, int]]:
        seen.append(one[1])
        return [(one[1], len(seen))]

    bids = timed(p, [("x", 0, 0)], [("x", 8, 0)], [("x", 17, 0)], [("y", 30, 0)], [("x", 40, 0)])
    bids.key_by(lambda one: one[0]).process(list[int], count, ttl="10s").write(kept)
    p.run()
    assert kept.records == [(0, 1), (8, 2), (17, 3), (30, 1), (40, 1)]


class Driven:
    """A process step that is driven by hand; the time of the clock is in microseconds."""

    def __init__(self, fn: Any, on_timer: Any, *, ttl: int | None = None, timed: bool = False) -> None:
        self.out: list[Any] = []
        op = ProcessOp(list, fn, on_timer, ttl)
        failing = Failing(Step("p", op, (), bounded=False, site=Site("script.py", 1)))
        self.step = TimedProcessing(op, self.out.extend, {}, failing, {}, timed=timed)
        self.step.clock(1_000_000)

    @property
    def made(self) -> list[Any]:
        return [one.value if isinstance(one, Stamped) else one for one in self.out]

    def give(self, key: str, *seconds: int) -> None:
        """Records whose value is the second of their event time."""
        self.step.take(0, [(key, Stamped(to_micros(at(second)), second)) for second in seconds])

    def advance(self, second: int) -> None:
        self.step.advance(to_micros(at(second)))


def test_alarms_go_by_the_wall_clock_and_the_last_one_of_a_tag_counts() -> None:
    def fn(state: list[Any], word: str, context: Context[str]) -> list[Any]:
        context.alarm("10s", "a")
        if word == "again":
            context.alarm("20s", "a")
            context.alarm("5s", "b")
        if word == "never":
            context.cancel("a")
        return []

    driven = Driven(fn, lambda state, timer, context: [(context.key, timer.tag, timer.at.second)])
    driven.step.take(0, [("k", "again"), ("l", "once"), ("m", "never")])
    driven.step.clock(6_000_000)
    assert driven.made == [("k", "b", 6)]
    states = driven.step.states
    states["k"] = pickle.loads(pickle.dumps(states["k"]))
    driven.step.clock(60_000_000)
    driven.step.clock(61_000_000)
    assert driven.made == [("k", "b", 6), ("l", "a", 11), ("k", "a", 21)]


def test_an_alarm_before_any_watermark_has_the_time_of_the_newest_record_of_its_key() -> None:
    def fn(state: list[Any], second: int, context: Context[str]) -> list[Any]:
        context.alarm("10s", "a")
        return []

    def ring(state: list[Any], timer: Timer, context: Context[str]) -> list[Any]:
        if timer.tag == "a":
            context.clear()
            context.alarm("10s", "behind clear")
        return [(timer.tag, (context.timestamp - NOON).seconds)]

    driven = Driven(fn, ring, timed=True)
    driven.give("k", 7, 3)
    driven.step.clock(11_000_000)
    driven.step.clock(21_000_000)
    assert driven.made == [("a", 7), ("behind clear", 7)]
    assert [one.time for one in driven.out] == [to_micros(at(7))] * 2
    driven.give("k", 8)
    driven.advance(5)
    driven.step.clock(31_000_000)
    assert driven.made[2:] == [("a", 5)]


def test_a_timer_for_a_time_that_has_come_fires_in_the_same_pass_and_once() -> None:
    def again(state: list[Any], timer: Timer, context: Context[str]) -> list[Any]:
        if timer.tag == "first":
            context.timer(timer.at + timedelta(seconds=1), "second")
        return [timer.tag]

    def fn(state: list[Any], second: int, context: Context[str]) -> list[Any]:
        context.timer(at(1), "first")
        return []

    driven = Driven(fn, again, timed=True)
    driven.give("k", 0)
    driven.advance(5)
    assert driven.made == ["first", "second"]
    driven.give("k", 5)
    assert driven.made == ["first", "second", "first", "second"]


@pytest.mark.parametrize("until", [to_micros(at(30)), END])
def test_a_jump_of_the_watermark_fires_what_lies_before_the_time_to_live(until: int) -> None:
    """Records at 0 and 9 keep the key until 19: its timer at 12 is due, the one at 20 is forgotten."""

    def fn(state: list[Any], second: int, context: Context[str]) -> list[Any]:
        context.timer(at(12), "in time")
        context.timer(at(20), "forgotten")
        return []

    def tell(state: list[Any], timer: Timer, context: Context[str]) -> list[Any]:
        return [(timer.tag, (context.watermark - NOON).seconds)]

    driven = Driven(fn, tell, ttl=10_000_000, timed=True)
    driven.give("k", 0, 9)
    driven.step.advance(until)
    assert driven.made == [("in time", 12)]
    assert driven.step.states == {}


def test_a_timer_that_sets_itself_again_ends_with_the_input() -> None:
    """It goes on up to the newest record, and once more behind the timer that was set: a session that looks
    when its last record came is closed, and a clock that ticks stops."""

    def fn(state: list[int], second: int, context: Context[str]) -> list[Any]:
        if not state:
            context.timer(context.timestamp + timedelta(seconds=10))
        state.append(second)
        return []

    def tick(state: list[int], timer: Timer, context: Context[str]) -> list[Any]:
        context.timer(timer.at + timedelta(seconds=10))
        return [(context.key, (timer.at - NOON).seconds)]

    driven = Driven(fn, tick, timed=True)
    driven.give("x", 0, 9, 25)
    driven.give("y", 24)
    driven.step.advance(END)
    assert driven.made == [("x", 10), ("x", 20), ("x", 30), ("y", 34), ("y", 44)]


def test_a_key_that_was_cleared_can_wait_again() -> None:
    def fn(state: list[int], second: int, context: Context[str]) -> list[Any]:
        state.append(second)
        context.clear()
        context.cancel("other")
        context.timer(at(5))
        return []

    driven = Driven(fn, lambda state, timer, context: [(timer.at, list(state))], timed=True)
    driven.give("k", 1)
    driven.advance(5)
    assert driven.made == [(at(5), [])]


def test_a_timer_that_fails_is_set_aside_with_its_time() -> None:
    p, kept, aside = Pipeline("p"), sinks.collected(), sinks.collected()

    def fail(auction: Auction, timer: Timer, context: Context[str]) -> Iterator[Any]:
        raise ValueError(timer.tag)

    bids = timed(p, [("x", 1, 5)], [("x", 12, 8)])
    closed = bids.key_by(lambda one: one[0]).process(Auction, bid, on_timer=fail, on_error="aside")
    closed.write(kept)
    failed = closed.errors
    failed.window(tumbling("10s")).count().map(lambda r: (r.window.end, r.value)).write(aside)
    p.run()
    assert (kept.records, aside.records) == ([], [(at(20), 1)])


def test_time_that_is_not_there_is_named() -> None:
    words = Pipeline("p").read(sources.items(["to"]), name="words").key_by(len)
    with pytest.raises(UserError, match=r"^process: ttl='10s' goes by event time, and 'words' has none"):
        words.process(list, lambda state, word, context: [], ttl="10s")

    def asks(state: list[Any], word: str, context: Context[int]) -> list[Any]:
        context.timer(NOON)
        return []

    p = Pipeline("p")
    p.read(sources.items(["to"])).key_by(len).process(list[Any], asks).write(sinks.printed())
    with pytest.raises(UserError, match="TypeError: this process has neither event time nor on_timer"):
        p.run()

    p = Pipeline("p")
    by_length = p.read(sources.items(["to"])).key_by(len)
    by_length.process(list[Any], asks, on_timer=lambda s, t, c: ["never"]).write(sinks.printed())
    with pytest.raises(UserError, match="TypeError: the stream has no event time, so this timer never fires"):
        p.run()
