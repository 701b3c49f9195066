"""A window step driven by a script: records, watermarks and the clock as data, panes as data."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from heronpy.operators.failing import Failing
from heronpy.operators.stamped import Stamped
from heronpy.operators.windows.windowing import Windowing, core_of, rules_of
from heronpy.pipeline import agg
from heronpy.pipeline.graph import Site, Step, WindowOp
from heronpy.pipeline.records import Result
from heronpy.pipeline.times import END
from heronpy.pipeline.triggers import at_watermark
from heronpy.pipeline.windows import Windows

SECOND = 1_000_000


def op_of(windows: Windows, aggregate: Any = None, **how: Any) -> WindowOp:
    """A window step; durations are in microseconds."""
    given: dict[str, Any] = {
        "trigger": at_watermark(),
        "panes": "accumulating",
        "lateness": 0,
        "keyed": True,
        "aggregate": aggregate or agg.sum(lambda value: value),
    }
    return WindowOp(windows, **{**given, **how})


class WindowScript:
    """The step, what it has made and what it sent aside."""

    def __init__(self, op: WindowOp, *, reads_late: bool = True, copies: bool = False) -> None:
        self.made: list[Stamped] = []
        self.aside: list[Stamped] = []
        step = Step("windowed", op, (), bounded=True, site=Site("script.py", 1))
        rules = rules_of(op)
        if copies:  # each window by itself: an aggregate that slices cannot carry
            rules = dataclasses.replace(rules, windows=_Copied(op.windows))
        late = self.aside.extend if reads_late else None
        self.step = Windowing(op, core_of(rules), self.made.extend, late, Failing(step), {})

    def record(self, time: int, value: Any, key: Any = "k", *, slot: int = 0) -> None:
        self.step.take(slot, [(key, Stamped(time, value))])

    def results(self) -> list[Result[Any, Any]]:
        return [stamped.value for stamped in self.made]

    def finish(self) -> list[Result[Any, Any]]:
        """The input ends; all results."""
        self.step.advance(END)
        assert self.step.states == {}
        return self.results()


@dataclasses.dataclass(frozen=True)
class _Copied(Windows):
    """The same windows, of which nothing is known."""

    of: Windows

    def assign(self, value: Any, time: datetime) -> Any:
        return self.of.assign(value, time)

    def bounds(self, value: Any, time: int) -> Sequence[tuple[int, int]]:
        return self.of.bounds(value, time)


def at(clock: str) -> int:
    """12:00:26 of a day, in microseconds since the epoch."""
    hour, minute, second = (int(part) for part in f"{clock}:00".split(":")[:3])
    return (hour * 3600 + minute * 60 + second) * SECOND


def shown(time: datetime) -> str:
    """12:00:26, or 12:00 for a full minute."""
    assert time.tzinfo is UTC
    return f"{time:%H:%M}" if not time.second else f"{time:%H:%M:%S}"
