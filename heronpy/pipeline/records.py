"""What pipelines hand to the user's functions: results, failures, tags and the context of a key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeAlias, TypeVar

import msgspec

from heronpy.kernel.names import checked_name
from heronpy.pipeline.times import BEGINNING, END
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


class Context(Generic[K]):
    """What `process` gives its function besides state and record."""

    __slots__ = ("_forget", "_side", "key")

    key: K

    def __init__(self, side: Callable[[str, Any], None], forget: Callable[[], None]) -> None:
        self._side, self._forget = side, forget

    def side(self, tag: Tag[V], value: V) -> None:
        """Emit to the stream that `stream[tag]` reads; dropped if there is none."""
        self._side(tag.name, value)

    def clear(self) -> None:
        """Forget the state of this key; its next record begins with a new one."""
        self._forget()
