"""Streams in windows: what is calculated of the records of each window."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

from heronpy.kernel.config.units import format_duration
from heronpy.pipeline import agg
from heronpy.pipeline.agg import Aggregate
from heronpy.pipeline.building import checked_aggregate, checked_function, checked_how, user_site
from heronpy.pipeline.checks import Duration, checked_micros, refuse_unless
from heronpy.pipeline.graph import How, Panes, StepInput, WindowOp
from heronpy.pipeline.triggers import Trigger, speaks_before_end
from heronpy.pipeline.windows import EverythingWindow, Windows

if TYPE_CHECKING:
    from heronpy.pipeline.keyed_streams import KeyedStream
    from heronpy.pipeline.streams import Results, Stream

A = TypeVar("A")
B = TypeVar("B")
R = TypeVar("R")
X = TypeVar("X")
N = TypeVar("N", int, float)
K = TypeVar("K", bound=Hashable)
T_co = TypeVar("T_co", covariant=True)


class Windowed(Generic[K, T_co]):
    """Records in windows of event time. Each method gives a result for each key, window and pane."""

    def __init__(
        self,
        stream: Stream[T_co],
        key: str | None,
        windows: Windows,
        lateness: Duration,
        trigger: Trigger,
        panes: Panes,
    ) -> None:
        self._stream, self._key = stream, key
        self._windows, self._trigger, self._panes = windows, trigger, panes
        self._lateness = checked_micros("window: lateness", lateness, least=0)
        self._check()
        self._check_input(stream)
        stream._steps.unused_windows[self] = user_site()

    def __repr__(self) -> str:
        return f"the window of {self._stream._step!r}"

    def _check(self) -> None:
        refuse_unless(
            isinstance(self._windows, Windows),
            f"window takes windows, got {self._windows!r}",
            hint="tumbling('1m'), sliding('1m', every='5s'), sessions('10m') or everything()",
        )
        refuse_unless(
            isinstance(self._trigger, Trigger),
            f"window: trigger={self._trigger!r} is no trigger",
            hint="trigger=every('10s'), from heronpy.pipeline.triggers",
        )
        refuse_unless(
            self._panes in ("discarding", "accumulating", "retracting"),
            f"window: panes={self._panes!r} is not known",
            hint="panes='accumulating', 'discarding' or 'retracting'",
        )

    def _check_input(self, stream: Stream[Any]) -> None:
        refuse_unless(
            stream.timed,
            f"window: {stream._step!r} has no event time",
            hint=".event_time(lambda record: record.at, lag='5s') behind read",
        )
        never = not stream.bounded and not speaks_before_end(self._trigger)
        refuse_unless(
            not (never and isinstance(self._windows, EverythingWindow)),
            f"everything() of {stream._step!r}, a stream that never ends, never fires at_watermark()",
            hint="trigger=every('10s') or at_count(n)",
        )
        late_by = stream._steps[stream._step].late_by
        if late_by > self._lateness:
            text = format_duration(late_by / 1_000_000)
            warnings.warn(
                f"results of {stream._step!r} may be {text} late, and the window behind it takes none"
                f" of them: lateness={text!r}",
                stacklevel=4,
            )

    def aggregate(
        self, aggregate: Aggregate[T_co, A, R], *, name: str | None = None, par: int | None = None
    ) -> Results[K, T_co, R]:
        """The aggregate of each window.

        >>> clicks = words.event_time(lambda word: len(word), unit="s", lag="0s")
        >>> made(clicks.key_by(len).window(tumbling("10s")).aggregate(agg.to_list()).map(lambda r: r.value))
        [['to', 'be', 'or', 'to', 'be'], ['not']]
        """
        checked_aggregate("aggregate", aggregate)
        return self._results("", aggregate, name, par)

    def count(self, *, name: str | None = None, par: int | None = None) -> Results[K, T_co, int]:
        """How many records each window has.

        >>> clicks = words.event_time(lambda word: len(word), unit="s", lag="0s")
        >>> made(clicks.window(tumbling("3s")).count().map(lambda r: (r.window.end.second, r.value)))
        [(3, 5), (6, 1)]
        """
        return self._results("count", agg.count(), name, par)

    def sum(
        self, by: Callable[[T_co], N], *, name: str | None = None, par: int | None = None
    ) -> Results[K, T_co, N]:
        """The sum of what `by` gives."""
        checked_function("sum", by)
        return self._results("sum", agg.sum(by), name, par)

    def mean(
        self, by: Callable[[T_co], float], *, name: str | None = None, par: int | None = None
    ) -> Results[K, T_co, float]:
        """The mean of what `by` gives."""
        checked_function("mean", by)
        return self._results("mean", agg.mean(by), name, par)

    def min(
        self, by: Callable[[T_co], X], *, name: str | None = None, par: int | None = None
    ) -> Results[K, T_co, X]:
        """The least of what `by` gives."""
        checked_function("min", by)
        return self._results("min", agg.min(by), name, par)

    def max(
        self, by: Callable[[T_co], X], *, name: str | None = None, par: int | None = None
    ) -> Results[K, T_co, X]:
        """The greatest of what `by` gives."""
        checked_function("max", by)
        return self._results("max", agg.max(by), name, par)

    def top(
        self, n: int, by: Callable[[T_co], Any], *, name: str | None = None, par: int | None = None
    ) -> Results[K, T_co, list[T_co]]:
        """The `n` records with the greatest `by`, the greatest first."""
        checked_function("top", by)
        return self._results("top", agg.top(n, by), name, par)

    def maxima(
        self, by: Callable[[T_co], Any], *, name: str | None = None, par: int | None = None
    ) -> Results[K, T_co, list[T_co]]:
        """All records that have the greatest `by`."""
        checked_function("maxima", by)
        return self._results("maxima", agg.maxima(by), name, par)

    def collect(self, *, name: str | None = None, par: int | None = None) -> Results[K, T_co, list[T_co]]:
        """All records of each window, as one list."""
        return self._results("collect", agg.to_list(), name, par)

    def co_group(
        self, other: KeyedStream[K, B], *, name: str | None = None, par: int | None = None
    ) -> Results[K, T_co | B, tuple[list[T_co], list[B]]]:
        """For each key and window all records of both streams. Lists may be empty, not both."""
        return self._with("co_group", other, None, name, par)

    @overload
    def join(
        self, other: KeyedStream[K, B], *, how: Literal["inner"] = ..., name: str | None = ...
    ) -> Results[K, T_co | B, tuple[T_co, B]]: ...
    @overload
    def join(
        self, other: KeyedStream[K, B], *, how: Literal["left"], name: str | None = ...
    ) -> Results[K, T_co | B, tuple[T_co, B | None]]: ...
    @overload
    def join(
        self, other: KeyedStream[K, B], *, how: Literal["right"], name: str | None = ...
    ) -> Results[K, T_co | B, tuple[T_co | None, B]]: ...
    @overload
    def join(
        self, other: KeyedStream[K, B], *, how: Literal["outer"], name: str | None = ...
    ) -> Results[K, T_co | B, tuple[T_co | None, B | None]]: ...
    def join(
        self, other: KeyedStream[K, B], *, how: How = "inner", name: str | None = None
    ) -> Results[K, Any, Any]:
        """Each pair of records with the same key in the same window; None where a side is missing.

        >>> timed = words.event_time(len, unit="s", lag="0s")
        >>> long = timed.filter(lambda word: len(word) > 2).key_by(len)
        >>> made(long.window(tumbling("10s")).join(timed.key_by(len)).map(lambda r: r.value))
        [('not', 'not')]
        """
        checked_how("join", how, ("inner", "left", "right", "outer"))
        refuse_unless(
            self._panes == "accumulating",
            f"join: panes={self._panes!r} would lose pairs of which one record is new and one is not",
            hint="panes='accumulating'",
        )
        return self._with("join", other, how, name, None)

    def _with(
        self, word: str, other: KeyedStream[K, Any], how: How | None, name: str | None, par: int | None
    ) -> Results[K, Any, Any]:
        from heronpy.pipeline.keyed_streams import KeyedStream  # which has windows

        refuse_unless(
            self._key is not None and isinstance(other, KeyedStream),
            f"{word} in windows takes two keyed streams",
            hint=f".key_by(…).window(…).{word}(other.key_by(…))",
        )
        self._stream._of_one_pipeline(word, other._stream)
        self._check_input(other._stream)
        sides = _sides(word)
        _check_deducts(sides, other._stream)
        return self._results(word, sides, name, par, other=other._read(slot=1), how=how)

    def _results(
        self,
        word: str,
        aggregate: Aggregate[Any, Any, Any],
        name: str | None,
        par: int | None,
        *,
        other: StepInput | None = None,
        how: How | None = None,
    ) -> Results[K, Any, Any]:
        self._check_aggregate(aggregate)
        op = WindowOp(
            self._windows,
            self._trigger,
            self._panes,
            self._lateness,
            aggregate,
            keyed=self._key is not None,
            how=how,
            sides=other is not None,
        )
        steps = self._stream._steps
        read = self._stream._read() if self._key is None else StepInput(self._key)
        inputs = (read,) if other is None else (read, other)
        function = None if word else aggregate
        step = steps.add(op, inputs, function=function, called=word or None, name=name, par=par)
        steps.unused_windows.pop(self, None)
        return self._stream._results_of(step.name)

    def _check_aggregate(self, aggregate: Aggregate[Any, Any, Any]) -> None:
        refuse_unless(
            not self._windows.merging or aggregate.combine is not None,
            f"windows that merge need the aggregate {aggregate.name!r} to combine",
            hint="agg.fold(create, add, combine)",
        )
        _check_deducts(aggregate, self._stream)


def _check_deducts(aggregate: Aggregate[Any, Any, Any], stream: Stream[Any]) -> None:
    retracting = stream._steps[stream._step].retracting_in(stream._output)
    refuse_unless(
        not retracting or aggregate.deduct is not None,
        f"the aggregate {aggregate.name!r} cannot deduct what {retracting!r} takes back (panes='retracting')",
        hint="agg.count(), agg.sum(fn) or agg.mean(fn), or panes='accumulating'",
    )


def _sides(word: str) -> Aggregate[Any, Any, Any]:
    """The records of two sides, which come as pairs of side and record."""

    def add(sides: tuple[list[Any], list[Any]], record: tuple[int, Any]) -> tuple[list[Any], list[Any]]:
        sides[record[0]].append(record[1])
        return sides

    return Aggregate(
        word,
        create=lambda: ([], []),
        add=add,
        finish=lambda sides: (list(sides[0]), list(sides[1])),
        combine=lambda a, b: (a[0] + b[0], a[1] + b[1]),
    )
