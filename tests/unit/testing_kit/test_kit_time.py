"""Time that the test moves: ticks, windows, metrics."""

from __future__ import annotations

from typing import Any

import pytest

from heronpy import Bolt, Spout, Topology, TopologyContext, Tuple
from heronpy.constants import TOPOLOGY_TICK_TUPLE_FREQ_SECS
from heronpy.metrics import CountMetric
from heronpy.testing import Clock, TopologyTest
from heronpy.window import SlidingWindowBolt, TumblingWindowBolt, WindowContext


class Numbers(Spout):
    outputs = ["number"]


class Ticking(Bolt):
    """Emits at every tick how many tuples came since the last one."""

    outputs = ["seen"]

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        self.seen = 0

    def process(self, tup: Tuple) -> None:
        assert not self.is_tick(tup)
        self.seen += 1

    def process_tick(self, tup: Tuple) -> None:
        assert self.is_tick(tup)
        self.emit([self.seen])
        self.seen = 0


class Ticks(Topology):
    numbers = Numbers.spec()
    often = Ticking.spec(inputs=[numbers], config={TOPOLOGY_TICK_TUPLE_FREQ_SECS: 2})
    seldom = Ticking.spec(inputs=[numbers], config={TOPOLOGY_TICK_TUPLE_FREQ_SECS: 5})
    never = Ticking.spec(inputs=[numbers])


def test_ticks_come_when_the_clock_moves_and_only_then() -> None:
    run = TopologyTest(Ticks)
    run.feed("numbers", [[1], [2], [3]])
    run.run()
    assert run.emitted("often") == []
    run.advance("1999ms")
    assert run.emitted("often") == []
    run.advance("1ms")
    assert run.emitted("often") == [[3]]
    run.feed("numbers", [[4]])
    run.advance("8s")
    assert run.clock.monotonic() == 10
    assert run.emitted("often") == [[3], [1], [0], [0], [0]]
    assert run.emitted("seldom") == [[4], [0]]
    assert run.emitted("never") == []


def test_what_a_tick_emits_goes_on_its_way() -> None:
    class Chain(Topology):
        numbers = Numbers.spec()
        often = Ticking.spec(inputs=[numbers], config={TOPOLOGY_TICK_TUPLE_FREQ_SECS: 1})
        later = Ticking.spec(inputs=[often], config={TOPOLOGY_TICK_TUPLE_FREQ_SECS: 4})

    run = TopologyTest(Chain)
    run.feed("numbers", [])
    run.advance("4s")
    assert run.counts()["later"].executed == 4


def test_an_error_in_a_tick_names_the_task() -> None:
    class Broken(Topology):
        numbers = Numbers.spec()
        bad = BadTick.spec(inputs=[numbers], config={TOPOLOGY_TICK_TUPLE_FREQ_SECS: 1})

    run = TopologyTest(Broken)
    with pytest.raises(ZeroDivisionError) as caught:
        run.advance("1s")
    assert caught.value.__notes__ == ["in bad[0] of topology Broken"]


class BadTick(Bolt):
    def process(self, tup: Tuple) -> None: ...

    def process_tick(self, tup: Tuple) -> None:
        raise ZeroDivisionError


class Windows:
    """Emits each window with the numbers in it."""

    outputs = ["start", "end", "numbers"]

    def processWindow(self, window: WindowContext, tuples: list[Tuple]) -> None:  # noqa: N802
        self.emit([window.start, window.end, [tup.number for tup in tuples]])  # type: ignore[attr-defined]


class Tumbling(Windows, TumblingWindowBolt): ...


class Sliding(Windows, SlidingWindowBolt): ...


def test_tumbling_windows_lie_side_by_side() -> None:
    class Side(Topology):
        numbers = Numbers.spec()
        window = Tumbling.spec(inputs=[numbers], config={"tumblingwindowbolt_duration_secs": 10})

    run = TopologyTest(Side, clock=Clock(epoch=1000))
    for number in range(5):
        run.feed("numbers", [[number]])
        run.advance("5s")
    assert run.emitted("window") == [[1000, 1010, [0, 1]], [1010, 1020, [2, 3]]]
    assert run.counts()["window"].acked == 4
    run.advance("5s")
    assert run.emitted("window")[2:] == [[1020, 1030, [4]]]


def test_sliding_windows_overlap() -> None:
    class Overlap(Topology):
        numbers = Numbers.spec()
        window = Sliding.spec(
            inputs=[numbers],
            config={"slidingwindowbolt_duration_secs": 10, "slidingwindowbolt_slideinterval_secs": 5},
        )

    run = TopologyTest(Overlap)
    run.feed("numbers", [[1]])
    run.advance("4s")
    run.feed("numbers", [[2]])
    run.advance("4s")
    run.feed("numbers", [[3]])
    run.advance("12s")
    assert run.emitted("window") == [
        [-5, 5, [1, 2]],
        [0, 10, [2, 3]],
        [5, 15, [3]],
        [10, 20, []],
    ]


class Measured(Bolt):
    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        self.metric = CountMetric()
        context.register_metric("seen", self.metric, 10)

    def process(self, tup: Tuple) -> None:
        self.metric.incr()


def test_metrics_are_read_by_the_same_clock() -> None:
    class Metered(Topology):
        numbers = Numbers.spec()
        measured = Measured.spec(inputs=[numbers])

    run = TopologyTest(Metered)
    run.feed("numbers", [[1], [2]])
    run.advance("9s")
    assert run.component("measured").metric.value == 2
    run.advance("1s")
    assert run.component("measured").metric.value == 0


def test_a_clock_says_what_it_cannot_do() -> None:
    with pytest.raises(ValueError, match="'soon' is not a number with a unit"):
        Clock().advance("soon")
    with pytest.raises(ValueError, match="-1 is not a number with a unit"):
        Clock().advance(-1)
