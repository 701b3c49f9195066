"""What pipelines hand to the user's functions: results, failures, tags and the context of a key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

import msgspec

from heronpy.kernel.names import checked_name
from heronpy.pipeline.checks import Duration, checked_micros
from heronpy.pipeline.times import BEGINNING, END, to_datetime, to_micros
from heronpy.pipeline.windows import Window, window_of

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
K_co = TypeVar("K_co", covariant=True)
T_co = TypeVar("T_co", covariant=True)


#: before the watermark has passed the end of the window, when it does, and behind that
Timing: TypeAlias = Literal["early", "on_time", "late"]


class Pane(msgspec.Struct, frozen=True):
    """Which of a window's results this is."""

    #: of the key in its window, from 0
    index: int
    timing: Timing
    #: no other follows
    last: bool


#: of what speaks at the end of the input, without windows
AT_THE_END = Pane(0, "on_time", True)


class Result(msgspec.Struct, Generic[K_co, T_co], frozen=True, repr_omit_defaults=True):
    """What was found for a key, in a window; without windows that is all time."""

    key: K_co
    value: T_co
    window: Window = window_of((BEGINNING, END))
    pane: Pane = AT_THE_END
    #: takes back what was said before
    retracts: bool = False

    def __reduce__(self) -> tuple[Any, ...]:
        """On its way to another task and in checkpoints it has numbers for its times."""
        start, end = self.window
        pane = self.pane
        said = pane.index, pane.timing, pane.last, self.retracts
        return _result, (self.key, self.value, to_micros(start), to_micros(end), *said)


def _result(
    key: Any, value: Any, start: int, end: int, index: int, timing: Timing, last: bool, retracts: bool
) -> Result[Any, Any]:
    return Result(key, value, window_of((start, end)), Pane(index, timing, last), retracts)


class Failed(msgspec.Struct, Generic[T_co], frozen=True):
    """A record that a step with `on_error="aside"` could not process."""

    record: T_co
    step: str
    #: as Python prints it: "ValueError: …"
    error: str
    #: of the user's own frames
    traceback: str


@dataclass(frozen=True)
class Tag(Generic[T]):
    """The name of a side output, with the type of its records: `slow = Tag[Request]("slow")`."""

    name: str

    def __post_init__(self) -> None:
        checked_name("the tag", self.name)


class Timer(NamedTuple):
    """A time that a key has waited for."""

    at: datetime
    tag: str


class TimersOfKey(Protocol):
    """What a context asks about time: of the key that is in hand."""

    def times(self) -> tuple[int, int]:
        """Event time of the record or timer, and the watermark."""

    def set_timer(self, at: int, tag: str) -> None: ...
    def set_alarm(self, after: int, tag: str) -> None: ...
    def cancel(self, tag: str) -> None: ...


class Context(Generic[K]):
    """What `process` gives its functions besides state and record."""

    __slots__ = ("_forget", "_side", "_timers", "key")

    key: K

    def __init__(
        self,
        side: Callable[[str, Any], None],
        forget: Callable[[], None],
        timers: TimersOfKey | None = None,
    ) -> None:
        self._side, self._forget, self._timers = side, forget, timers

    @property
    def timestamp(self) -> datetime:
        """The event time of the record, or of the timer."""
        return to_datetime(self._time().times()[0])

    @property
    def watermark(self) -> datetime:
        """Nothing older is expected: a record with an older timestamp is late."""
        return to_datetime(self._time().times()[1])

    def timer(self, at: datetime, tag: str = "") -> None:
        """Have `on_timer` called when the watermark is at `at`. A key has one timer per tag, the last set."""
        self._time().set_timer(to_micros(at), tag)

    def alarm(self, after: Duration, tag: str = "") -> None:
        """Have `on_timer` called so long from now, by the wall clock; one alarm per tag, as with `timer`."""
        self._time().set_alarm(checked_micros("alarm: after", after), tag)

    def cancel(self, tag: str = "") -> None:
        """No timer and no alarm with this tag."""
        self._time().cancel(tag)

    def side(self, tag: Tag[V], value: V) -> None:
        """Emit to the stream that `stream[tag]` reads; dropped if there is none."""
        self._side(tag.name, value)

    def clear(self) -> None:
        """Forget the state of this key with its timers; its next record begins with a new one."""
        self._forget()

    def _time(self) -> TimersOfKey:
        if self._timers is None:
            msg = "this process has neither event time nor on_timer"
            raise TypeError(msg)
        return self._timers
