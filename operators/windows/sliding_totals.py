"""The total over slices that enter at one end and leave at the other, without adding all of them up again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final, TypeAlias

from heronpy.operators.kept import Kept

#: start of a slice → its accumulator
Slices: TypeAlias = Mapping[int, Any]
Two: TypeAlias = Callable[[Any, Any], Any]

#: accumulators that no function can change
_VALUES: Final = (int, float, complex, Decimal, str, bytes, frozenset, type(None))


def inexact(accumulator: Any) -> bool:
    """Whether adding to it rounds, so that what was added cannot be deducted: 1e16 + 1 - 1e16 is 0."""
    if isinstance(accumulator, tuple):
        return any(map(inexact, accumulator))
    return isinstance(accumulator, float | complex | Decimal)


def changes_left(create: Callable[[], Any], combine: Two) -> bool:
    """Whether `combine` gives back its left side, with the right one in it."""
    left = create()
    return _changeable(left) and _is_left(combine(left, create()), left)


def _changeable(accumulator: Any) -> bool:
    if isinstance(accumulator, tuple):
        return any(map(_changeable, accumulator))
    return not isinstance(accumulator, _VALUES)


def _is_left(combined: Any, left: Any) -> bool:
    if isinstance(left, tuple) and isinstance(combined, tuple):
        return any(map(_is_left, combined, left))
    return combined is left and _changeable(left)


class Deducted(Kept):
    """For aggregates that deduct, and exactly: one operation when a slice enters, one when it leaves."""

    __slots__ = ("_total", "starts")

    def __init__(self) -> None:
        self._total: Any = None
        #: the slices in it
        self.starts: list[int] = []

    def enter(self, start: int, slices: Slices, combine: Two) -> None:
        self._total = combine(self._total, slices[start]) if self.starts else slices[start]
        self.starts.append(start)

    def leave(self, start: int, slices: Slices, combine: Two, deduct: Two | None) -> None:  # noqa: ARG002
        """The oldest one, which is given."""
        assert deduct is not None
        del self.starts[0]
        self._total = deduct(self._total, slices[start]) if self.starts else None

    def total(self, combine: Two) -> Any:  # noqa: ARG002 - is there already
        return self._total


class TwoStacks(Kept):
    """For the others: older slices as a stack of totals up to a turning point, the newer ones as one total.

    When the stack is used up, the newer ones become it: each slice is combined once when it enters, once when
    the stack is made, and there is one combination for each total.
    """

    __slots__ = ("_newer", "_older", "_since", "starts")

    def __init__(self) -> None:
        #: (start, total from there to the turning point), the oldest last
        self._older: list[tuple[int, Any]] = []
        self._newer: Any = None
        #: starts of the slices behind the turning point
        self._since: list[int] = []
        #: the slices in it
        self.starts: list[int] = []

    def enter(self, start: int, slices: Slices, combine: Two) -> None:
        self._newer = combine(self._newer, slices[start]) if self._since else slices[start]
        self._since.append(start)
        self.starts.append(start)

    def leave(self, start: int, slices: Slices, combine: Two, deduct: Two | None) -> None:  # noqa: ARG002
        """The oldest one, which is given."""
        if not self._older:
            self._turn(slices, combine)
        self._older.pop()
        del self.starts[0]

    def _turn(self, slices: Slices, combine: Two) -> None:
        total: Any = None
        for start in reversed(self._since):
            total = combine(slices[start], total) if self._older else slices[start]
            self._older.append((start, total))
        self._newer, self._since = None, []

    def total(self, combine: Two) -> Any:
        if not self._older or not self._since:
            return self._older[-1][1] if self._older else self._newer
        return combine(self._older[-1][1], self._newer)
