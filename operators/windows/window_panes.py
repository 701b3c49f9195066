"""What a window says: panes, and how a core is told what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from heronpy.pipeline.agg import Aggregate
from heronpy.pipeline.graph import Panes
from heronpy.pipeline.records import Timing
from heronpy.pipeline.times import END
from heronpy.pipeline.triggers import Trigger
from heronpy.pipeline.windows import Bounds, Window, Windows, window_of

#: what a core answers when no window of a record has expired
IN_TIME = -1
#: an event or processing time that never comes
NEVER = END + 1


@dataclass(frozen=True)
class WindowRules:
    """Where in event time, when in processing time, and how results refine each other."""

    windows: Windows
    trigger: Trigger
    panes: Panes
    lateness: int
    aggregate: Aggregate[Any, Any, Any]

    def expired(self, bounds: Bounds, watermark: int) -> bool:
        """Whether a window takes no more records."""
        return watermark >= bounds[1] + self.lateness or watermark == END

    def with_record(self, accumulator: Any, value: Any, retracts: bool) -> Any:
        """The accumulator with a record or partial, or without a record that is taken back."""
        aggregate = self.aggregate
        if type(value) is WindowPartial:
            assert aggregate.combine is not None  # the planner leaves the others in one stage
            return aggregate.combine(accumulator, value.accumulator)
        if not retracts:
            return aggregate.add(accumulator, value)
        assert aggregate.deduct is not None  # the builder refuses the others
        return aggregate.deduct(accumulator, aggregate.add(aggregate.create(), value))


class WindowPartial(NamedTuple):
    """What one task has seen of a key in a part of the windows that all its records share."""

    accumulator: Any
    #: how many records are in it
    records: int
    span: Bounds

    @property
    def window(self) -> Window:
        """Of results that are put together by window: the window that they are of."""
        return window_of(self.span)


def records_in(value: Any) -> int:
    """How many records one element is."""
    return value.records if type(value) is WindowPartial else 1


class Fired(NamedTuple):
    """A pane of one key."""

    bounds: Bounds
    value: Any
    timing: Timing
    number: int
    last: bool = False
    retracts: bool = False
    #: its event time
    time: int = 0


class Element(NamedTuple):
    """A record for a window, with the watermark and the processing time at which it comes."""

    time: int
    value: Any
    watermark: int
    now: int = 0
    retracts: bool = False


class Core(Protocol):
    """The windows of one key. Panes are appended to `fired`."""

    def create(self) -> Any:
        """The state of a key without windows. Its `wake` is the next watermark and its `alarm` the next
        processing time for which it has something to do."""

    def element(self, state: Any, element: Element, fired: list[Fired]) -> int:
        """A record; says by how much the last of its windows that expired did so, or IN_TIME."""

    def advance(self, state: Any, watermark: int, now: int, fired: list[Fired], before: int) -> None:
        """The watermark has come so far, from where it was before."""

    def clock(self, state: Any, watermark: int, now: int, fired: list[Fired]) -> None:
        """It is so late."""

    def empty(self, state: Any) -> bool:
        """Whether the key can be forgotten."""
