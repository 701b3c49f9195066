"""Watermarks through a topology: behind the rows they follow, only where somebody hears them."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from heronpy import Bolt, Grouping, Spout, Topology
from heronpy.instances.execution.turn import Turn
from heronpy.kernel.flow.watermarks import END
from heronpy.testing import TopologyTest

SECOND = 1_000_000


class Clicks(Spout):
    """Has rows and watermarks to say, one each call."""

    outputs = ["key", "at"]
    script: list[tuple[str, int] | int]

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self._left = iter(type(self).script if context.get_component_id() == "clicks" else [])

    def next_tuple(self) -> None:
        said = next(self._left, None)
        if isinstance(said, int):
            self.emit_watermark(said)
        elif said is not None:
            self.emit(list(said))


class Relay(Bolt):
    """Knows nothing of time."""

    outputs = ["key", "at"]

    def process(self, tup: Any) -> None:
        self.emit(list(tup.values))


class Windows(Bolt):
    """Holds rows until their time has come."""

    outputs = ["key", "at"]

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.heard: list[tuple[int, bool]] = []

    def process(self, tup: Any) -> None:
        self.state.setdefault(tup.values[0], []).append(tup.values[1])

    def on_watermark(self, at: int, idle: bool) -> Iterator[None]:
        self.heard.append((at, idle))
        for key, times in sorted(self.state.items()):
            due = [time for time in sorted(times) if time < at]
            self.state[key] = [time for time in times if time >= at]
            for time in due:
                self.emit([key, time])
            yield
        self.emit_watermark(at, idle)


class Log(Bolt):
    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.seen: list[Any] = []

    def process(self, tup: Any) -> None:
        self.seen.append(list(tup.values))

    def on_watermark(self, at: int, idle: bool) -> None:
        self.seen.append(at)


class Timed(Topology):
    clicks = Clicks.spec()
    relay = Relay.spec(par=2, inputs=[clicks])
    windows = Windows.spec(par=2, inputs={relay: Grouping.fields("key")})
    log = Log.spec(inputs=[windows])


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_a_watermark_is_passed_on_and_overtakes_nothing(seed: int | None) -> None:
    Clicks.script = [("b", 3), ("a", 1), ("a", 5), 2, ("b", 2), 4, ("a", 6), END]
    with TopologyTest(Timed, seed=seed) as run:
        run.run_spouts(calls=10)
        run.advance("5s")
        seen = run.component("log").seen
        low = 0
        for one in seen:
            assert isinstance(one, int) or one[1] >= low, f"{one} came after {low}"
            low = one if isinstance(one, int) else low
        assert low == END
        assert sorted(one for one in seen if isinstance(one, list)) == [
            ["a", 1], ["a", 5], ["a", 6], ["b", 2], ["b", 3],
        ]  # fmt: skip
        for index in range(2):
            heard = [at for at, _ in run.component("windows", index).heard]
            assert heard == sorted(heard)


class Plain(Topology):
    clicks = Clicks.spec()
    relay = Relay.spec(inputs=[clicks])


def test_where_nobody_hears_watermarks_none_is_sent() -> None:
    Clicks.script = [("a", 1), 2, END]
    with TopologyTest(Plain) as run:
        run.run_spouts(calls=10)
        tasks = run._tasks
        assert tasks is not None
        channels = tasks.tasks_of("clicks")[0].parts.outbox._channels.values()
        assert [channel.watermark for channel in channels] == [-(2**63)]


class Alarms(Bolt):
    """Wants to be called at a time of day."""

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self._alarms = [10 * SECOND, 20 * SECOND]
        self.rang: list[int] = []

    def process(self, tup: Any) -> None:
        self._alarms.insert(0, tup.values[1])

    def due(self) -> int | None:
        return self._alarms[0] if self._alarms else None

    def on_clock(self, now: int) -> None:
        self._alarms.pop(0)
        self.rang.append(now)


class Waking(Topology):
    clicks = Clicks.spec()
    alarms = Alarms.spec(inputs=[clicks])


def test_a_bolt_is_called_when_its_next_alarm_is_due() -> None:
    Clicks.script = []
    with TopologyTest(Waking) as run:
        run.advance("9s")
        assert run.component("alarms").rang == []
        run.send("alarms", ["a", 9 * SECOND + SECOND // 2])
        run.advance("30s")
        assert run.component("alarms").rang == [9 * SECOND + SECOND // 2, 10 * SECOND, 20 * SECOND]


class Portions(Bolt):
    """Has much to do at one time of day."""

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self._due: int | None = 10 * SECOND
        self.done: list[str] = []

    def process(self, tup: Any) -> None:
        self.done.append(tup.values[0])

    def due(self) -> int | None:
        return self._due

    def on_clock(self, now: int) -> Iterator[None]:
        self._due = None
        for portion in ("one", "two", "three"):
            self.done.append(portion)
            yield


class InPortions(Topology):
    clicks = Clicks.spec()
    portions = Portions.spec(inputs=[clicks])


def test_what_is_due_may_take_several_turns_and_tuples_come_behind_it() -> None:
    Clicks.script = []
    with TopologyTest(InPortions) as run:
        run.advance("9s")
        tasks = run._tasks
        assert tasks is not None
        (task,) = tasks.tasks_of("portions")
        run.clock.advance(1.0)
        assert task.loop.turn() is Turn.MORE
        assert run.component("portions").done == ["one", "two"]
        run.send("portions", ["a", 1])
        run.advance("1s")
        assert run.component("portions").done == ["one", "two", "three", "a"]


class Many(Spout):
    """Emits all rows in one call, one by one, and says one watermark."""

    outputs = ["key", "at"]
    rows = 0

    def next_tuple(self) -> None:
        for number in range(type(self).rows):
            self.emit([f"k{number % 5}", number])
        self.emit_watermark(type(self).rows)


class Counted(Bolt):
    def process(self, tup: Any) -> None:
        key = tup.values[0]
        self.state[key] = self.state.get(key, 0) + 1


class CountedInTime(Counted):
    def on_watermark(self, at: int, idle: bool) -> None:
        self.state["k0"] += 0


class WithoutTime(Topology):
    many = Many.spec()
    counted = Counted.spec(inputs={many: Grouping.fields("key")})


class WithTime(Topology):
    many = Many.spec()
    counted = CountedInTime.spec(inputs={many: Grouping.fields("key")})


def calls_of(topology: type[Topology], rows: int) -> int:
    """How many functions of Python are called for one turn of the spout and all that comes of it."""
    Many.rows = rows
    with TopologyTest(topology, settings={"batch.tuples": 100, "credit.initial_tuples": 100_000}) as run:
        run.run()
        count = 0

        def profile(_: Any, event: str, __: Any) -> None:
            nonlocal count
            count += event == "call"

        gc.disable()  # its callbacks, of other libraries, would be counted
        sys.setprofile(profile)
        try:
            run.run_spouts(calls=1)
        finally:
            sys.setprofile(None)
            gc.enable()
        assert sum(run.state("counted").values()) == rows
        return count


def test_watermarks_cost_nothing_per_row() -> None:
    """What 2,000 more rows cost, in calls, is the same with event time and without."""
    more = [calls_of(topology, 4000) - calls_of(topology, 2000) for topology in (WithoutTime, WithTime)]
    assert more[0] == more[1]
