"""Bolts that process the tuples of a window of time instead of single ones."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from heronpy.bolt import Bolt
from heronpy.constants import TOPOLOGY_TICK_TUPLE_FREQ_SECS
from heronpy.errors import DefinitionError
from heronpy.spec import HeronComponentSpec
from heronpy.state import State, StatefulComponent
from heronpy.stream import Stream
from heronpy.tuple import Tuple, TupleHelper

if TYPE_CHECKING:
    from heronpy.context import TopologyContext


class WindowContext(NamedTuple):
    """Start and end of a window, in seconds since the epoch."""

    start: float
    end: float


class WindowClock(Protocol):
    """The clock of a window bolt: the module `time`, or the `Clock` of a test."""

    def monotonic(self) -> float:
        """Seconds of a monotonic clock: the age of a tuple is the difference of two readings."""

    def time(self) -> float:
        """The time of day, in seconds since the epoch: only used for the `WindowContext`."""


class _WindowBolt(Bolt, StatefulComponent):
    """Ticks once per window. Time is processing time: when the tuple was processed."""

    WINDOW_DURATION_SECS: str

    #: a test may put its own clock here
    clock: WindowClock = time

    window_duration: float
    current_tuples: deque[Any]
    saved_state: State | None = None
    #: delay of the first tick after initialize, if it differs from the interval
    first_tick_secs: float | None = None
    #: when the last tick was, on the monotonic clock
    _ticked: float

    @classmethod
    def spec(
        cls,
        name: str | None = None,
        inputs: Any = None,
        par: int = 1,
        config: dict[str, Any] | None = None,
        optional_outputs: Sequence[str | Stream] | None = None,
    ) -> HeronComponentSpec:
        if config and cls.WINDOW_DURATION_SECS in config:
            config = {**config, TOPOLOGY_TICK_TUPLE_FREQ_SECS: cls._tick_secs(config)}
        return super().spec(name, inputs, par, config, optional_outputs)

    def processWindow(self, window_info: WindowContext, tuples: list[Tuple]) -> None:  # noqa: N802 - Apache's name
        """Called at the end of each window with its tuples, oldest first."""
        msg = f"{type(self).__qualname__} must define processWindow(window_info, tuples)"
        raise NotImplementedError(msg)

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        """A subclass that overrides `initialize` must call this one."""
        if self.WINDOW_DURATION_SECS not in config:
            msg = f"{context.get_component_id()!r} needs {self.WINDOW_DURATION_SECS!r} in its config"
            raise DefinitionError(msg)
        self.window_duration = _seconds(config, self.WINDOW_DURATION_SECS)
        # The instance starts the tick timer after this, from the same dict.
        ticks = config[TOPOLOGY_TICK_TUPLE_FREQ_SECS] = self._tick_secs(config)
        self.current_tuples = deque()
        self._ticked = self.clock.monotonic()
        if self.saved_state is not None and self.saved_state.get("tuples") is not None:
            self._go_on(self.saved_state, ticks)

    def init_state(self, stateful_state: State) -> None:
        self.saved_state = stateful_state

    def pre_save(self, checkpoint_id: str) -> None:  # noqa: ARG002 - the interface's
        # A monotonic reading means nothing to another process; its distance from `saved_at`, an age, does.
        if self.saved_state is not None:
            self.saved_state.put("tuples", self.current_tuples)
            self.saved_state.put("saved_at", self.clock.monotonic())
            self.saved_state.put("ticked", self._ticked)

    def end_of_input(self) -> None:
        """The last window ends with the input."""
        if self.current_tuples:
            self.process_tick(TupleHelper.make_tick_tuple())

    def _go_on(self, saved: State, ticks: float) -> None:
        """Resume as if the clock had stopped at the save, so that each window gets the same tuples."""
        now = self.clock.monotonic()
        # Offset from the clock of the saving process to this one; it keeps the ages.
        away = now - saved.get("saved_at", now)
        self.current_tuples = self._later(saved.get("tuples"), away)
        self._ticked = saved.get("ticked", now) + away
        self.first_tick_secs = min(ticks, max(0.0, self._ticked + ticks - now))

    def _later(self, tuples: deque[Any], away: float) -> deque[Any]:  # noqa: ARG002 - for those with times
        return tuples

    @classmethod
    def _tick_secs(cls, config: dict[str, Any]) -> float:
        return _seconds(config, cls.WINDOW_DURATION_SECS)

    def _window_ending_now(self) -> WindowContext:
        now = self.clock.time()
        end = int(now) if float(self.window_duration).is_integer() else now
        return WindowContext(end - self.window_duration, end)


class TumblingWindowBolt(_WindowBolt):
    """Windows side by side: each tuple is in one. Config: `tumblingwindowbolt_duration_secs`."""

    WINDOW_DURATION_SECS = "tumblingwindowbolt_duration_secs"

    def process(self, tup: Tuple) -> None:
        self.current_tuples.append(tup)

    def process_tick(self, tup: Tuple) -> None:  # noqa: ARG002 - the interface's
        done = list(self.current_tuples)
        self._ticked = self.clock.monotonic()
        self.processWindow(self._window_ending_now(), done)
        self.current_tuples.clear()
        for old in done:
            self.ack(old)


class SlidingWindowBolt(_WindowBolt):
    """Windows that overlap: one ends every slide interval and holds the last duration's tuples.

    Config: `slidingwindowbolt_duration_secs`, `slidingwindowbolt_slideinterval_secs` (default: the duration).
    """

    WINDOW_DURATION_SECS = "slidingwindowbolt_duration_secs"
    WINDOW_SLIDEINTERVAL_SECS = "slidingwindowbolt_slideinterval_secs"

    slide_interval: float

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        super().initialize(config, context)
        self.slide_interval = self._tick_secs(config)

    def process(self, tup: Tuple) -> None:
        now = self.clock.monotonic()
        self.current_tuples.append((tup, now))
        self._expire(now)

    def process_tick(self, tup: Tuple) -> None:  # noqa: ARG002 - the interface's
        now = self._ticked = self.clock.monotonic()
        self._expire(now)
        self.processWindow(self._window_ending_now(), [held for held, _ in self.current_tuples])

    def _later(self, tuples: deque[Any], away: float) -> deque[Any]:
        return deque((tup, at + away) for tup, at in tuples)

    def _expire(self, now: float) -> None:
        while self.current_tuples and self.current_tuples[0][1] <= now - self.window_duration:
            self.ack(self.current_tuples.popleft()[0])

    @classmethod
    def _tick_secs(cls, config: dict[str, Any]) -> float:
        duration = _seconds(config, cls.WINDOW_DURATION_SECS)
        if cls.WINDOW_SLIDEINTERVAL_SECS not in config:
            return duration
        slide = _seconds(config, cls.WINDOW_SLIDEINTERVAL_SECS)
        if slide > duration:
            msg = (
                f"{cls.WINDOW_SLIDEINTERVAL_SECS} ({slide:g}) must not be longer than"
                f" {cls.WINDOW_DURATION_SECS} ({duration:g}): tuples in between would be in no window"
            )
            raise DefinitionError(msg)
        return slide


def _seconds(config: dict[str, Any], key: str) -> float:
    """A positive number of seconds; whole ones as an int."""
    try:
        seconds = float(config[key])
    except (TypeError, ValueError):
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        msg = f"{key} must be a number of seconds above 0, got {config[key]!r}"
        raise DefinitionError(msg)
    return int(seconds) if seconds.is_integer() else seconds
