"""The total over frames that enter at one end and leave at the other, without adding all of them up again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

#: start of a frame → its accumulator
Frames: TypeAlias = Mapping[int, Any]
Two: TypeAlias = Callable[[Any, Any], Any]


class Deducted:
    """For aggregates that deduct: one operation when a frame enters, one when it leaves."""

    __slots__ = ("_total", "starts")

    def __init__(self) -> None:
        self._total: Any = None
        #: the frames in it
        self.starts: list[int] = []

    def enter(self, start: int, frames: Frames, combine: Two) -> None:
        self._total = combine(self._total, frames[start]) if self.starts else frames[start]
        self.starts.append(start)

    def leave(self, start: int, frames: Frames, combine: Two, deduct: Two | None) -> None:  # noqa: ARG002
        """The oldest one, which is given."""
        assert deduct is not None
        del self.starts[0]
        self._total = deduct(self._total, frames[start]) if self.starts else None

    def total(self, combine: Two) -> Any:  # noqa: ARG002 - is there already
        return self._total


class TwoStacks:
    """For the others: older frames as a stack of totals up to a turning point, the newer ones as one total.

    When the stack is used up, the newer ones become it: each frame is combined once when it enters, once when
    the stack is made, and there is one combination for each total.
    """

    __slots__ = ("_newer", "_older", "_since", "starts")

    def __init__(self) -> None:
        #: (start, total from there to the turning point), the oldest last
        self._older: list[tuple[int, Any]] = []
        self._newer: Any = None
        #: starts of the frames behind the turning point
        self._since: list[int] = []
        #: the frames in it
        self.starts: list[int] = []

    def enter(self, start: int, frames: Frames, combine: Two) -> None:
        self._newer = combine(self._newer, frames[start]) if self._since else frames[start]
        self._since.append(start)
        self.starts.append(start)

    def leave(self, start: int, frames: Frames, combine: Two, deduct: Two | None) -> None:  # noqa: ARG002
        """The oldest one, which is given."""
        if not self._older:
            self._turn(frames, combine)
        self._older.pop()
        del self.starts[0]

    def _turn(self, frames: Frames, combine: Two) -> None:
        total: Any = None
        for start in reversed(self._since):
            total = combine(frames[start], total) if self._older else frames[start]
            self._older.append((start, total))
        self._newer, self._since = None, []

    def total(self, combine: Two) -> Any:
        if not self._older or not self._since:
            return self._older[-1][1] if self._older else self._newer
        return combine(self._older[-1][1], self._newer)
