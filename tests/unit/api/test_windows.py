"""Window bolts, on a clock that the test sets."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.faults.two_clocks import TwoClocks

from heronpy.component import make_component
from heronpy.context import TopologyContext
from heronpy.errors import DefinitionError
from heronpy.kernel.plans import Component, LogicalPlan, PhysicalPlan, PlacedTask
from heronpy.state import HashMapState, give_state
from heronpy.tuple import Tuple, TupleHelper
from heronpy.window import SlidingWindowBolt, TumblingWindowBolt, WindowContext

TICK = TupleHelper.make_tick_tuple()
SLIDING = "slidingwindowbolt_duration_secs"
SLIDE = "slidingwindowbolt_slideinterval_secs"
TUMBLING = "tumblingwindowbolt_duration_secs"
TICKS = "topology.tick.tuple.freq.secs"


class Engine:
    logger = logging.getLogger("engine")

    def __init__(self) -> None:
        self.acked: list[Any] = []

    def ack(self, tup: Tuple) -> None:
        self.acked.append(tup.id)


class Sliding(SlidingWindowBolt):
    def processWindow(self, window_info: WindowContext, tuples: list[Tuple]) -> None:  # noqa: N802
        self.windows.append((window_info, [tup.id for tup in tuples]))

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        super().initialize(config, context)
        self.windows: list[tuple[WindowContext, list[Any]]] = []


class Tumbling(TumblingWindowBolt):
    def processWindow(self, window_info: WindowContext, tuples: list[Tuple]) -> None:  # noqa: N802
        self.windows.append((window_info, [tup.id for tup in tuples]))

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        super().initialize(config, context)
        self.windows: list[tuple[WindowContext, list[Any]]] = []


def started(cls: type[Any], config: dict[str, Any]) -> tuple[Any, TwoClocks, Engine]:
    logical = LogicalPlan("t", (Component("window", "bolt", "m.C", 1),))
    plan = PhysicalPlan("t", 1, logical, (PlacedTask(1, "window", 0, 1),), (), {})
    engine, clock = Engine(), TwoClocks()
    bolt = make_component(cls, engine)
    bolt.clock = clock
    bolt.initialize(config, TopologyContext(plan, 1, config))
    return bolt, clock, engine


def tuple_of(tup_id: object) -> Tuple:
    return Tuple(tup_id, "words", "default", 1, [])


def test_a_tumbling_window_has_each_tuple_once_and_acks_it_then() -> None:
    config: dict[str, Any] = {TUMBLING: 10}
    bolt, clock, engine = started(Tumbling, config)
    assert config[TICKS] == 10
    for tup_id in (1, 2):
        bolt.process(tuple_of(tup_id))
    assert engine.acked == []
    for _ in range(2):
        clock.now += 10
        bolt.process_tick(TICK)
    assert bolt.windows == [(WindowContext(1000, 1010), [1, 2]), (WindowContext(1010, 1020), [])]
    assert engine.acked == [1, 2]


def test_a_sliding_window_has_the_last_duration_and_acks_what_leaves() -> None:
    config: dict[str, Any] = {SLIDING: 4, SLIDE: 2}
    bolt, clock, engine = started(Sliding, config)
    assert config[TICKS] == 2
    for tup_id in range(4):
        clock.now += 1
        bolt.process(tuple_of(tup_id))
        clock.now += 1
        bolt.process_tick(TICK)
    assert bolt.windows == [
        (WindowContext(998, 1002), [0]),
        (WindowContext(1000, 1004), [0, 1]),
        (WindowContext(1002, 1006), [1, 2]),
        (WindowContext(1004, 1008), [2, 3]),
    ]
    assert engine.acked == [0, 1]


@given(st.integers(1, 5), st.integers(1, 5), st.lists(st.integers(0, 40), max_size=20))
def test_each_tuple_is_in_as_many_windows_as_fit(slide: int, times: int, arrivals: list[int]) -> None:
    bolt, clock, engine = started(Sliding, {SLIDING: slide * times, SLIDE: slide})
    end = 1000 + 41 + slide * (times + 1)
    waiting = sorted(1000 + arrival for arrival in arrivals)
    for second in range(1000, end + 1):
        clock.now = second
        if second > 1000 and (second - 1000) % slide == 0:
            bolt.process_tick(TICK)
        while waiting and waiting[0] == second:
            waiting.pop(0)
            clock.now = second + 0.5
            bolt.process(tuple_of(len(arrivals) - len(waiting)))
    seen = [tup_id for _, window in bolt.windows for tup_id in window]
    assert all(seen.count(tup_id) == times for tup_id in range(1, len(arrivals) + 1))
    assert len(engine.acked) == len(set(engine.acked))


HOUR = 3600.0
#: what happens next, and how many quarters of a second later
STEPS = st.lists(
    st.tuples(st.sampled_from(["tuple", "tick", "clock set", "new process"]), st.integers(0, 12)), max_size=60
)
JUMPS = st.lists(st.sampled_from([-HOUR, HOUR, -1.0, 1.0, -40 * 365 * 24 * HOUR]), min_size=60, max_size=60)


@given(STEPS, JUMPS)
def test_a_sliding_window_holds_the_last_duration_however_the_clock_is_set(
    steps: list[tuple[str, int]], jumps: list[float]
) -> None:
    """Ages survive a clock that is set and a process whose monotonic clock began elsewhere."""
    bolt, clock, engine = started(Sliding, {SLIDING: 4, SLIDE: 2})
    elapsed = 0.0
    arrivals: list[float] = []
    acked: list[int] = []
    for (what, quarters), jump in zip(steps, jumps, strict=False):
        elapsed += quarters / 4
        clock.now += quarters / 4
        if what == "tuple":
            arrivals.append(elapsed)
            bolt.process(tuple_of(len(arrivals) - 1))
        elif what == "tick":
            bolt.process_tick(TICK)
            held = [tup_id for tup_id, came in enumerate(arrivals) if came > elapsed - 4]
            assert bolt.windows[-1] == (WindowContext(int(clock.time()) - 4, int(clock.time())), held)
            assert acked + engine.acked == [n for n, came in enumerate(arrivals) if came <= elapsed - 4]
        elif what == "clock set":
            clock.set_by += jump
        else:
            acked += engine.acked
            bolt, clock, engine = succeeded(bolt, TwoClocks(abs(jump), clock.set_by))


def succeeded(bolt: Any, clock: TwoClocks) -> tuple[Any, TwoClocks, Engine]:
    """The bolt of another process, with what this one saves."""
    state, engine = HashMapState(), Engine()
    give_state(bolt, lambda: state)
    bolt.pre_save("checkpoint")
    heir = make_component(type(bolt), engine)
    heir.clock = clock
    give_state(heir, lambda: state)
    heir.initialize({SLIDING: 4, SLIDE: 2}, None)
    return heir, clock, engine


@pytest.mark.parametrize("jump", [-HOUR, HOUR])
def test_a_clock_that_is_set_neither_keeps_tuples_nor_throws_them_away(jump: float) -> None:
    bolt, clock, engine = started(Sliding, {SLIDING: 4, SLIDE: 2})
    bolt.process(tuple_of(0))
    clock.now, clock.set_by = clock.now + 2, jump
    bolt.process_tick(TICK)
    for tup_id in (1, 2, 3):
        clock.now += 2
        bolt.process(tuple_of(tup_id))
    bolt.process_tick(TICK)
    now = 1008 + jump
    assert bolt.windows == [
        (WindowContext(now - 10, now - 6), [0]),
        (WindowContext(now - 4, now), [2, 3]),
    ]
    assert engine.acked == [0, 1]


def test_a_tumbling_window_shows_the_time_of_day_and_lasts_as_long_as_before() -> None:
    bolt, clock, _ = started(Tumbling, {TUMBLING: 10})
    clock.now, clock.set_by = clock.now + 3, -HOUR
    heir = make_component(Tumbling, Engine())
    state = HashMapState()
    give_state(bolt, lambda: state)
    bolt.process(tuple_of(1))
    bolt.pre_save("checkpoint")
    heir.clock = TwoClocks(now=5.0, set_by=7000.0)
    give_state(heir, lambda: state)
    heir.initialize({TUMBLING: 10}, None)
    assert heir.first_tick_secs == 7
    heir.clock.now += 7
    heir.process_tick(TICK)
    assert heir.windows == [(WindowContext(7002, 7012), [1])]


def test_the_slide_is_the_duration_by_default_and_seconds_may_have_a_fraction() -> None:
    config: dict[str, Any] = {SLIDING: "0.5"}
    bolt, _, _ = started(Sliding, config)
    bolt.process_tick(TICK)
    assert config[TICKS] == 0.5
    assert bolt.windows == [(WindowContext(999.5, 1000.0), [])]


def test_a_spec_knows_its_ticks_already() -> None:
    assert (Sliding.spec(config={SLIDING: 10, SLIDE: 2}).custom_config or {})[TICKS] == 2
    assert (Tumbling.spec(config={TUMBLING: 3}).custom_config or {})[TICKS] == 3
    assert Tumbling.spec().custom_config is None


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, "'window' needs 'slidingwindowbolt_duration_secs' in its config"),
        ({SLIDING: 0}, "slidingwindowbolt_duration_secs must be a number of seconds above 0, got 0"),
        ({SLIDING: "soon"}, "must be a number of seconds above 0, got 'soon'"),
        ({SLIDING: 2, SLIDE: 3}, r"slideinterval_secs \(3\) must not be longer than .*duration_secs \(2\)"),
    ],
)
def test_a_window_that_cannot_be_is_refused(config: dict[str, Any], message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        started(Sliding, config)


def test_open_windows_are_part_of_the_state() -> None:
    bolt, clock, _ = started(Tumbling, {TUMBLING: 10})
    state = HashMapState()
    give_state(bolt, lambda: state)
    bolt.process(tuple_of(1))
    bolt.pre_save("checkpoint")
    successor = make_component(Tumbling, Engine())
    successor.clock = clock
    give_state(successor, lambda: state)
    successor.initialize({TUMBLING: 10}, None)
    successor.process_tick(TICK)
    assert successor.windows == [(WindowContext(990, 1000), [1])]
