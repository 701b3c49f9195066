"""Event time per split: who is waited for, and for how long."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar

import pytest

from heronpy.operators.event_timing import EventTiming, SplitTime
from heronpy.operators.failing import Failing, StepFailed
from heronpy.pipeline.graph import EventTimeOp, OnError, Site, Step
from heronpy.pipeline.times import END
from heronpy.pipeline.watermarks import ARRIVAL, BoundedDisorder, Watermarks, percentile

SECOND = 1_000_000
#: the present, in seconds
NOW = 1_800_000_000


class Timed:
    """A step with two splits; times are in seconds."""

    def __init__(
        self,
        watermarks: Watermarks,
        *,
        idle: int | None = None,
        future: int | None = None,
        ahead: int | None = None,
        on_error: OnError = "fail",
    ) -> None:
        limits = (None if limit is None else limit * SECOND for limit in (idle, future, ahead))
        op = EventTimeOp(lambda value: value, watermarks, "s", *limits)
        step = Step("timed", op, (), bounded=False, site=Site("script.py", 1), on_error=on_error)
        self.rows: list[Any] = []
        self.aside: list[Any] = []
        self.said: list[tuple[float, bool]] = []
        self.failing = Failing(step, self.aside.extend if on_error == "aside" else None)
        self._timing = EventTiming(op, self.rows.extend, self.failing, self._say)
        self._timing.read(["a", "b"])
        self.now: float = NOW
        self.wait(0)

    def _say(self, watermark: int, idle: bool) -> None:
        self.said.append((END if watermark == END else watermark // SECOND, idle))

    def give(self, split: str, *times: Any) -> None:
        self._timing.arrives(split, None, caught_up=True)
        self._timing.take(0, times)

    def wait(self, seconds: int, *, asked: bool = True) -> None:
        for _ in range(seconds * 2):
            self.now += 0.5
            self._timing.clock(int(self.now * SECOND))
            if asked:
                self._timing.nothing({"a", "b"} - self.waiting().keys())
        self._timing.clock(int(self.now * SECOND))

    def keep_busy(self, split: str, seconds: int, *, in_vain: Sequence[str] = ()) -> None:
        """A split has something at each poll, which asks these others in vain."""
        for _ in range(seconds * 2):
            self.now += 0.5
            self._timing.clock(int(self.now * SECOND))
            self._timing.nothing(in_vain)
            self.give(split, self.now)
        self._timing.clock(int(self.now * SECOND))

    def held_by(self) -> str | None:
        return self._timing.held_by()

    def end(self, split: str) -> None:
        self._timing.over(split)

    def waiting(self) -> dict[str, str]:
        return self._timing.waiting()

    def last(self) -> tuple[float, bool]:
        return self.said[-1]

    def watermark(self) -> float:
        return self.last()[0]


def test_a_split_that_has_never_spoken_is_waited_for() -> None:
    timed = Timed(BoundedDisorder(5 * SECOND))
    timed.give("a", 100, 90)
    timed.wait(60)
    assert not timed.said
    timed.give("b", 80)
    assert timed.said == [(75, False)]
    timed.end("b")
    assert timed.watermark() == 95
    timed.end("a")
    assert timed.watermark() == END


def test_a_silent_split_is_left_out_when_it_was_asked_for_long_enough() -> None:
    """The data are old: time does not follow the clock."""
    timed = Timed(BoundedDisorder(0), idle=30)
    timed.give("b", 10)
    timed.give("a", 100)
    assert timed.watermark() == 10
    timed.wait(20)
    timed.give("a", 110)
    assert timed.watermark() == 10
    timed.wait(15)
    timed.give("a", 120)
    assert timed.last() == (120, False)
    timed.give("b", 125)
    timed.give("a", 130)
    assert timed.watermark() == 125


def test_time_in_which_nothing_was_asked_for_is_no_silence() -> None:
    timed = Timed(BoundedDisorder(0), idle=30)
    timed.give("b", 10)
    timed.give("a", 100)
    timed.wait(1)
    timed.wait(300, asked=False)
    timed.wait(1)
    timed.give("a", 110)
    assert timed.watermark() == 10


def test_a_split_that_is_asked_in_vain_beside_a_busy_one_is_silent() -> None:
    timed = Timed(BoundedDisorder(0), idle=30)
    timed.give("b", 10)
    timed.keep_busy("a", 29, in_vain="b")
    assert timed.watermark() == 10
    assert timed.held_by() == "split b: silent 29s"
    timed.keep_busy("a", 2, in_vain="b")
    assert timed.last() == (NOW + 31, False)
    assert timed.held_by() is None


def test_a_split_that_a_busy_reader_does_not_ask_is_waited_for_and_named() -> None:
    timed = Timed(BoundedDisorder(0), idle=30)
    timed.give("b", 10)
    timed.keep_busy("a", 300)
    assert timed.watermark() == 10
    assert timed.held_by() == "split b: silent 5m"


def test_without_idle_a_silent_split_is_named_with_what_to_try() -> None:
    timed = Timed(BoundedDisorder(0))
    assert timed.held_by() == "split a: nothing yet (try idle='30s')"
    timed.keep_busy("a", 109)
    assert timed.held_by() == "split b: silent 108s (try idle='30s')"
    timed.give("b", 10)
    assert timed.held_by() is None, "it is far behind, but it comes"


def test_no_split_is_named_for_the_time_in_which_the_source_was_not_asked() -> None:
    timed = Timed(BoundedDisorder(0))
    timed.give("b", 10)
    timed.give("a", 100)
    timed.wait(300, asked=False)
    assert timed.held_by() is None
    timed.give("a", 110)
    assert timed.held_by() == "split b: silent 1s (try idle='30s')"


def test_when_all_are_silent_those_behind_know_and_time_stays() -> None:
    timed = Timed(BoundedDisorder(0), idle=30)
    timed.give("a", 100)
    timed.give("b", 90)
    timed.wait(31)
    assert timed.last() == (90, True)
    timed.give("b", 95)
    assert timed.last() == (95, False)


def test_where_data_were_of_the_present_time_follows_the_clock_so_that_the_last_window_fires() -> None:
    timed = Timed(BoundedDisorder(5 * SECOND), idle=30)
    timed.give("a", NOW)
    timed.give("b", NOW)
    assert timed.watermark() == NOW - 5
    timed.wait(120)
    assert timed.watermark() == NOW + 120 - 35
    assert not any(idle for _, idle in timed.said)


class TenBehind(Watermarks):
    """Says nothing of its lag but by its watermark."""

    def __init__(self) -> None:
        self._largest = 0

    def on_record(self, time: int) -> None:
        self._largest = max(self._largest, time)

    def current(self, now: int, caught_up: bool) -> int:
        return self._largest - 10 * SECOND


@pytest.mark.parametrize("watermarks", [TenBehind(), percentile(100)])
def test_time_that_follows_the_clock_keeps_the_lag_that_the_strategy_has_found(
    watermarks: Watermarks,
) -> None:
    timed = Timed(watermarks, idle=30)
    for split in "ab":
        timed.give(split, NOW, NOW - 10, NOW)
    behind = NOW - timed.watermark()
    assert 10 <= behind <= 12
    timed.wait(120)
    assert timed.watermark() == NOW + 120 - 30 - behind
    timed.wait(1000)
    assert timed.watermark() == NOW + 1120 - 30 - behind


def test_without_idle_nothing_is_left_out() -> None:
    timed = Timed(BoundedDisorder(0))
    timed.give("a", 100)
    timed.give("b", 10)
    timed.wait(600)
    timed.give("a", 200)
    assert timed.watermark() == 10


def test_the_time_of_arrival_always_moves() -> None:
    timed = Timed(ARRIVAL)
    timed.give("a", 1, 2)
    assert [row.time // SECOND for row in timed.rows] == [NOW, NOW]
    timed.wait(10)
    assert timed.watermark() == NOW + 10


def test_a_clock_that_is_set_back_makes_nothing_late() -> None:
    timed = Timed(ARRIVAL)
    timed.now -= 10
    timed.wait(0)
    timed.give("a", 1)
    assert [row.time // SECOND for row in timed.rows] == [NOW]


def test_fractions_of_a_second_are_rounded() -> None:
    timed = Timed(BoundedDisorder(0))
    timed.give("a", 1.000001, 4.35, 2)
    assert [row.time for row in timed.rows] == [1_000_001, 4_350_000, 2_000_000]


@pytest.mark.parametrize(
    ("time", "reason"),
    [
        (NOW * SECOND, r"ValueError: .* give event_time the unit of its times"),
        (datetime.max.replace(tzinfo=UTC), "ValueError: .* behind 9999"),
        (datetime.min.replace(tzinfo=UTC), "ValueError: .* before the year 1"),
        ("17", "TypeError: '17' is no number: with unit='s' times are numbers"),
    ],
)
def test_a_time_that_cannot_be_one_is_refused_with_its_record(time: Any, reason: str) -> None:
    timed = Timed(BoundedDisorder(0))
    with pytest.raises(StepFailed, match=rf"^step 'timed' failed at .*: {reason}.*, for the record "):
        timed.give("a", 1, time)


def test_a_percentile_of_lateness_leaves_the_stragglers_behind() -> None:
    """One of a hundred records is 500 s late, the others up to 5 s: 90 % keep to about 5 s."""
    timed = Timed(percentile(90))
    for split in "ab":
        for second in range(1000, 2000):
            late = 500 if second % 100 == 0 else second % 5
            timed.give(split, second - late)
    timed.wait(0)
    assert 1999 - 5 * 1.2 <= timed.watermark() <= 1999 - 3


def test_a_split_that_has_ended_does_not_speak_for_one_that_is_silent() -> None:
    """History that ends beside a quiet live stream: what the live one brings later is not late."""
    timed = Timed(BoundedDisorder(0), idle=30)
    timed.give("a", 100)
    timed.give("b", 90)
    timed.wait(31)
    timed.end("a")
    assert timed.last() == (90, True)
    timed.give("b", 110)
    assert timed.last() == (110, False)
    timed.end("b")
    assert timed.last() == (END, False)


@pytest.mark.parametrize("idle", [None, 30])
def test_an_end_is_an_end_whether_or_not_a_split_was_silent(idle: int | None) -> None:
    timed = Timed(BoundedDisorder(0), idle=idle)
    timed.give("a", 100)
    timed.give("b", 90)
    timed.wait(60)
    timed.end("a")
    timed.end("b")
    assert timed.last() == (END, False)


YEAR_2100 = 4_102_444_800


def test_a_record_from_the_year_2100_does_not_close_the_world() -> None:
    timed = Timed(BoundedDisorder(0), future=3600)
    timed.give("a", NOW, YEAR_2100, NOW + 1)
    timed.give("b", NOW + 3590)
    assert timed.watermark() == NOW + 1
    assert [row.value for row in timed.rows] == [NOW, NOW + 1, NOW + 3590]
    assert timed.failing.failed == 1


def test_without_a_limit_a_record_may_have_any_time() -> None:
    timed = Timed(BoundedDisorder(0))
    timed.give("a", YEAR_2100)
    timed.give("b", YEAR_2100)
    assert timed.watermark() == YEAR_2100


def test_what_has_no_time_or_a_wrong_one_is_set_aside_as_of_now() -> None:
    timed = Timed(BoundedDisorder(0), future=3600, on_error="aside")
    timed.give("a", 1, "noon", YEAR_2100)
    timed.give("b", 2)
    assert [row.value for row in timed.rows] == [1, 2]
    assert timed.watermark() == 1
    assert [(row.time // SECOND, row.value.record, row.value.error) for row in timed.aside] == [
        (NOW, "noon", "TypeError: 'noon' is no number: with unit='s' times are numbers"),
        (
            NOW,
            YEAR_2100,
            "ValueError: the time 2100-01-01 00:00:00+00:00 is more than 1h ahead of the clock (future='1h')",
        ),
    ]


class Slack:
    """A part of a strategy; its repr has its address, as that of most objects."""

    def __init__(self, seconds: int) -> None:
        self.micros = seconds * SECOND


class OwnStrategy(Watermarks):
    """The sum of what it has seen, less a slack: it must have seen all."""

    def __init__(self, slack: int) -> None:
        self._slack, self._known, self._total = Slack(slack), {"eu", "us", "asia"}, 0

    def on_record(self, time: int) -> None:
        self._total += time

    def current(self, now: int, caught_up: bool) -> int:
        return self._total - self._slack.micros


def timed_by(watermarks: Watermarks) -> EventTimeOp:
    return EventTimeOp(lambda value: value, watermarks, "s", idle=None)


@pytest.mark.parametrize(("slack", "total"), [(5, 60), (7, 50)])
def test_a_strategy_of_ones_own_goes_on_in_another_process_unless_the_step_has_another(
    slack: int, total: int
) -> None:
    """Another process makes the pipeline anew, and loads what was saved."""
    before = SplitTime(timed_by(OwnStrategy(5)))
    before.on_records([10 * SECOND])
    restored: SplitTime = pickle.loads(pickle.dumps(before))
    again = restored.goes_on(timed_by(OwnStrategy(slack)))
    again.on_records([50 * SECOND])
    assert again.watermark(timed_by(OwnStrategy(slack)), NOW) == (total - slack) * SECOND


def test_a_split_that_runs_ahead_waits_until_the_slowest_has_come_after() -> None:
    timed = Timed(BoundedDisorder(0), ahead=60)
    timed.give("a", 1000)
    assert timed.waiting() == {}, "what has given nothing holds back no other"
    timed.give("b", 900)
    assert timed.waiting() == {"a": "split 'a' is 100s ahead of 'b' and waits (ahead='1m')"}
    timed.give("b", 950)
    assert timed.waiting() == {"a": "split 'a' is 50s ahead of 'b' and waits (ahead='1m')"}
    timed.give("b", 980)
    assert timed.waiting() == {}
    timed.give("a", 1030)
    assert timed.waiting() == {}
    timed.give("a", 1050)
    assert list(timed.waiting()) == ["a"]
    timed.end("b")
    assert timed.waiting() == {}


def test_a_split_that_waits_is_not_silent_and_one_that_is_idle_is_not_waited_for() -> None:
    timed = Timed(BoundedDisorder(0), idle=30, ahead=60)
    timed.give("b", 900)
    timed.give("a", 1000)
    assert list(timed.waiting()) == ["a"]
    timed.wait(40)
    assert timed.waiting() == {}
    assert timed.last() == (1000, False), "b alone was asked, and is left out"


class Name(str):
    """The name of a split; how often names were compared is counted."""

    __slots__ = ()
    compared: ClassVar[int] = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Name.compared += 1
        return super().__eq__(other)


def many(splits: int, say: Callable[[int, bool], None]) -> tuple[EventTiming, list[Name]]:
    op = timed_by(BoundedDisorder(0))
    step = Step("timed", op, (), bounded=False, site=Site("script.py", 1))
    timing, names = EventTiming(op, lambda _: None, Failing(step, None), say), list(map(Name, range(splits)))
    timing.read(names)
    return timing, names


def test_splits_that_have_ended_are_not_looked_at_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[int] = []
    timing, names = many(1000, lambda at, _: said.append(at))
    for number, name in enumerate(names):
        timing.arrives(name, None, caught_up=False)
        timing.take(0, [number])
        if number:
            timing.over(name)
    looked: list[str] = []
    monkeypatch.setattr(timing, "settle", looked.append)
    timing.clock(NOW * SECOND)
    assert looked == names[:1]
    assert said == [0]
    assert timing.time_of(names[1]).watermark(timed_by(BoundedDisorder(0)), 0) == END


def test_the_split_that_holds_is_found_in_one_look_at_each() -> None:
    timing, _ = many(1000, lambda *_: None)
    timing.clock(NOW * SECOND)
    Name.compared = 0
    assert timing.held_by() == "split 0: nothing yet (try idle='30s')"
    assert Name.compared <= 1000
