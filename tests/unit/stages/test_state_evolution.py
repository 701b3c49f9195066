"""What steps keep, as checkpoints describe it; and states of older code with the fields that are new."""

from __future__ import annotations

import dataclasses
import pickle
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import msgspec
import pytest

from heronpy.kernel.checkpoints.state_shapes import reshaped
from heronpy.kernel.plans import StateShape
from heronpy.operators.timed_processing import KeyCell
from heronpy.pipeline import KeyedStream, Pipeline, agg, sinks, sources
from heronpy.pipeline.triggers import at_count, at_watermark
from heronpy.pipeline.windows import Window, Windows, sessions, sliding, tumbling
from heronpy.planner.planning import PlannedStage, planned, stages
from heronpy.stages.state_evolution import brought_up_to_date, shapes_of


@dataclass
class Plain:
    count: int = 0
    seen: list[int] = field(default_factory=list)
    last: str = ""


@dataclass(frozen=True, slots=True)
class Frozen:
    count: int = 0
    seen: tuple[int, ...] = ()


class Struct(msgspec.Struct):
    count: int = 0
    last: str = ""


class Pair(NamedTuple):
    first: int
    last: str = ""


class Undeclared:
    pass


def stage_of(*steps: Callable[[KeyedStream[int, int]], Any]) -> PlannedStage:
    """The stage in which steps with state share their keys."""
    p = Pipeline("p")
    by_rest = p.read(sources.items([1])).key_by(lambda n: n % 7)
    for step in steps:
        step(by_rest).write(sinks.collected())
    return next(stage for stage in stages(planned(p.graph())) if stage.stateful)


def timed_stage(step: Callable[[KeyedStream[int, int]], Any]) -> PlannedStage:
    """The stage of a step behind event time."""
    p = Pipeline("p")
    timed = p.read(sources.items([1])).event_time(lambda n: n, unit="s", lag="0s")
    step(timed.key_by(lambda n: n % 7)).write(sinks.collected())
    return next(stage for stage in stages(planned(p.graph())) if stage.stateful)


class Days(Windows):
    """Windows of one's own."""

    def assign(self, value: object, time: datetime) -> list[Window]:
        day = time.replace(hour=0, minute=0, second=0, microsecond=0)
        return [Window(day, day + timedelta(days=1))]


def processing(make: Callable[..., Any], name: str = "seen") -> Callable[[KeyedStream[int, int]], Any]:
    return lambda by_key: by_key.process(make, lambda state, n, context: [n], name=name)


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (
            Plain,
            StateShape(
                "class Plain", {"count": "int", "seen": "list[int]", "last": "str"}, ("count", "seen", "last")
            ),
        ),
        (
            Frozen,
            StateShape(
                "class Frozen", {"count": "int", "seen": "tuple[int, ...]"}, ("count", "seen"), ordered=True
            ),
        ),
        (
            Struct,
            StateShape("class Struct", {"count": "int", "last": "str"}, ("count", "last"), ordered=True),
        ),
        (Pair, StateShape("class Pair", {"first": "int", "last": "str"}, ("last",), ordered=True)),
        (Undeclared, StateShape("class Undeclared")),
        (lambda: 0, StateShape("a function's result")),
    ],
)
def test_a_class_is_described_by_its_fields(make: Callable[[], Any], shape: StateShape) -> None:
    assert shapes_of(stage_of(processing(make))) == {"seen": shape}


def test_steps_of_one_stage_are_described_each() -> None:
    stage = stage_of(
        processing(dict),
        lambda by_key: by_key.rolling(agg.sum(lambda n: n), name="sum"),
        lambda by_key: by_key.dedup(name="first"),
    )
    assert {step: shape.kind for step, shape in shapes_of(stage).items()} == {
        "seen": "class dict",
        "sum": "aggregate sum",
        "first": "dedup",
    }


def test_parts_of_an_aggregate_that_change_their_places_are_another_state() -> None:
    def shapes(aggregate: agg.Aggregate[int, Any, Any]) -> dict[str, StateShape]:
        return shapes_of(stage_of(lambda by_key: by_key.rolling(aggregate)))

    before = shapes(agg.of(n=agg.count(), most=agg.max(abs)))
    assert before == {"rolling:of": StateShape("aggregate of(n=count, most=max)")}
    assert reshaped(before, shapes(agg.of(n=agg.count(), most=agg.max(int)))) == ""
    assert "of(most=max, n=count)" in reshaped(before, shapes(agg.of(most=agg.max(abs), n=agg.count())))
    assert "of(m=count, most=max)" in reshaped(before, shapes(agg.of(m=agg.count(), most=agg.max(abs))))


WINDOWED: dict[str, Any] = {
    "aggregate count in windows of 1m": tumbling("1m"),
    "aggregate count in windows of 1m from 5s on": tumbling("1m", offset="5s"),
    "aggregate count in windows of 10s every 5s, by slices": sliding("10s", every="5s"),
    "aggregate count in sessions of 5m": sessions("5m"),
    "aggregate count in windows by Days": Days(),
}


@pytest.mark.parametrize("shape", WINDOWED)
def test_windows_are_described_by_what_is_kept_of_them(shape: str) -> None:
    stage = timed_stage(lambda by_key: by_key.window(WINDOWED[shape]).count(name="n"))
    assert shapes_of(stage) == {"n": StateShape(shape)}


def test_a_trigger_keeps_something_of_its_own() -> None:
    def shapes(trigger: Any) -> dict[str, StateShape]:
        how = {"trigger": trigger}
        return shapes_of(timed_stage(lambda by_key: by_key.window(tumbling("1m"), **how).count(name="n")))

    by_count = "aggregate count in windows of 1m, shown by AtCount(n=3)"
    assert shapes(at_count(3)) == {"n": StateShape(by_count)}
    assert "shown by AtCount" in reshaped(shapes(at_watermark()), shapes(at_count(3)))


def test_a_process_with_timers_keeps_more_than_one_without() -> None:
    assert shapes_of(timed_stage(processing(dict))) == {"seen": StateShape("class dict with timers")}
    cell = KeyCell(without(Plain(3), "seen", "last"))
    brought_up_to_date({1: cell}, timed_stage(processing(Plain)))
    assert cell.state == Plain(3)


def without(state: Any, *names: str) -> Any:
    """An object as it was before its class had these fields."""
    old = object.__new__(type(state))
    for each in dataclasses.fields(state):
        if each.name not in names:
            object.__setattr__(old, each.name, getattr(state, each.name))
    return old


def test_states_get_the_fields_that_are_new() -> None:
    states = {key: without(Plain(key, [key]), "seen", "last") for key in range(2)}
    brought_up_to_date(states, stage_of(processing(Plain)))
    assert states == {0: Plain(0), 1: Plain(1)}
    assert states[0].seen is not states[1].seen


def test_so_do_those_that_share_their_keys_and_those_with_slots() -> None:
    cells = {1: {"seen": without(Frozen(3), "seen"), "number": 4}, 2: {"number": 5}}
    brought_up_to_date(cells, stage_of(processing(Frozen), processing(int, "number")))
    assert cells == {1: {"seen": Frozen(3), "number": 4}, 2: {"number": 5}}


@pytest.mark.parametrize("state", [Frozen(1, (2,)), Struct(1, "x"), Pair(1, "x")])
def test_objects_that_are_saved_in_order_are_known_as_such(state: Any) -> None:
    """Whether a pickle has the names of the fields decides whether a new one may come first."""
    assert not {b"count", b"first"} & set(re.findall(rb"[a-z]+", pickle.dumps(state)))
    assert b"count" in pickle.dumps(Plain(1))
