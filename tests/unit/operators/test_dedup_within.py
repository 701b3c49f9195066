"""`dedup(within=…)` by event time: the same for any disorder, with a state that does not grow."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heronpy.operators.failing import Failing
from heronpy.operators.stamped import Stamped
from heronpy.operators.timed_processing import KeyCell, TimedProcessing
from heronpy.pipeline import Pipeline, sinks, sources
from heronpy.pipeline.graph import ProcessOp
from heronpy.testing import PipelineTest, at

SECOND, WITHIN = 1_000_000, 10


def first_clicks(within: str = "10s") -> Pipeline:
    p = Pipeline("clicks")
    clicks = p.read(sources.items(list[str]()), name="clicks").event_time(lambda _: 0, unit="s", lag="0s")
    first = clicks.key_by(lambda click: click[0], name="key").dedup(within=within, name="first")
    first.write(sinks.printed(), name="shown")
    return p


class Driven:
    """The step by itself; times are in seconds."""

    def __init__(self) -> None:
        self.made: list[Stamped] = []
        step = first_clicks().graph()["first"]
        assert isinstance(step.op, ProcessOp)
        self.step = TimedProcessing(step.op, self.made.extend, {}, Failing(step), {}, timed=True)

    def give(self, key: str, time: int) -> None:
        self.step.take(0, [(key, Stamped(time * SECOND, time))])

    def known(self, key: str) -> list[int]:
        cell: KeyCell = self.step.states[key]
        times: list[int] = cell.state.times
        return times


def naive(arrivals: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Each record that is not near one that was handed on before it."""
    made: list[tuple[str, int]] = []
    for key, time in arrivals:
        if all(other != key or abs(time - near) >= WITHIN for other, near in made):
            made.append((key, time))
    return made


@given(
    arrivals=st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 99)), max_size=40),
    lag=st.integers(0, 99),
    cut=st.integers(0, 40),
)
def test_a_record_is_handed_on_unless_one_near_it_was(
    arrivals: list[tuple[str, int]], lag: int, cut: int
) -> None:
    """The watermark follows as far as the records to come allow, or less far; the state is saved once."""
    driven = Driven()
    for number, (key, time) in enumerate(arrivals):
        driven.give(key, time)
        to_come = min((other for _, other in arrivals[number + 1 :]), default=100)
        largest = max(other for _, other in arrivals[: number + 1])
        driven.step.advance(min(to_come, max(0, largest - lag)) * SECOND)
        if number == cut:
            for of, cell in driven.step.states.items():
                driven.step.states[of] = pickle.loads(pickle.dumps(cell))
    assert [one.value for one in driven.made] == [time for _, time in naive(arrivals)]


def test_what_came_between_two_that_are_near_changes_nothing() -> None:
    driven = Driven()
    for time in (0, 100, 1):
        driven.give("k", time)
    assert [one.value for one in driven.made] == [0, 100]


def test_times_behind_the_watermark_are_forgotten_and_the_key_in_the_end() -> None:
    driven = Driven()
    for time in range(0, 1000, 10):
        driven.give("k", time)
        driven.step.advance((time - 20) * SECOND)
    assert len(driven.made) == 100
    assert driven.known("k") == [time * SECOND for time in (960, 970, 980, 990)]
    driven.step.advance(1000 * SECOND)
    assert driven.step.states == {}


@pytest.mark.parametrize("fault", [("checkpoint",), ("crash", "first"), ("rescale", "first", 3)])
def test_what_was_handed_on_survives_crashes_and_rescaling(fault: tuple[Any, ...]) -> None:
    with PipelineTest(first_clicks(), par=2) as run:
        run.feed("clicks", at("12:00:00", "a0"), at("12:01:40", "a100"), at("12:00:05", "b5"))
        run.script([("checkpoint",), fault])
        run.feed("clicks", at("12:00:01", "a1"), at("12:00:50", "a50"), at("12:00:14", "b14"))
        assert sorted(run.written("shown")) == ["a0", "a100", "a50", "b5"]
