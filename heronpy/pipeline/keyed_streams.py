"""Streams with keys: what is known, kept and calculated for each key."""

from __future__ import annotations

import bisect
import functools
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

from heronpy.pipeline import agg
from heronpy.pipeline.agg import Aggregate
from heronpy.pipeline.building import (
    checked_aggregate,
    checked_end_of_input,
    checked_function,
    checked_how,
)
from heronpy.pipeline.checks import Duration, checked_micros, refuse_unless
from heronpy.pipeline.graph import (
    AggregateOp,
    CoGroupOp,
    DedupOp,
    How,
    OnError,
    Op,
    Panes,
    ProcessOp,
    RollingOp,
    StepInput,
)
from heronpy.pipeline.records import Context, Result, Timer
from heronpy.pipeline.times import to_micros
from heronpy.pipeline.triggers import AtWatermark, Trigger
from heronpy.pipeline.windowed import Windowed
from heronpy.pipeline.windows import Windows

if TYPE_CHECKING:
    from heronpy.pipeline.streams import Stream

B = TypeVar("B")
S = TypeVar("S")
A = TypeVar("A")
R = TypeVar("R")
K = TypeVar("K", bound=Hashable)
T_co = TypeVar("T_co", covariant=True)


@dataclass
class FirstSeen:
    """What `dedup(within=…)` knows of a key: the event times of records that were handed on, in order."""

    times: list[int] = field(default_factory=list)


def first_within(apart: int, seen: FirstSeen, record: Any, context: Context[Any]) -> Iterator[Any]:
    """The record, unless one that was handed on is less than so many microseconds from it.

    Times that lie so far behind the watermark are forgotten: no record that is on time comes near them.
    """
    times, time = seen.times, to_micros(context.timestamp)
    place = bisect.bisect_left(times, time)
    if any(abs(time - near) < apart for near in times[max(0, place - 1) : place + 1]):
        return
    del times[: bisect.bisect_right(times, to_micros(context.watermark) - apart)]
    bisect.insort(times, time)
    yield record


class KeyedStream(Generic[K, T_co]):
    """Records with keys. The key belongs to this reading of the stream: another may key it differently."""

    def __init__(self, stream: Stream[T_co], key: str) -> None:
        self._stream, self._key = stream, key

    def __repr__(self) -> str:
        return f"<stream of {self._stream._step} by {self._key}>"

    @property
    def bounded(self) -> bool:
        """Whether it ends."""
        return self._stream.bounded

    def _read(self, slot: int = 0) -> StepInput:
        return StepInput(self._key, slot=slot)

    def _then(self, op: Op, function: object = None, **options: Any) -> Stream[Any]:
        step = self._stream._steps.add(op, (self._read(),), function=function, **options)
        return self._stream._of(step.name)

    def process(
        self,
        state: Callable[[], S],
        fn: Callable[[S, T_co, Context[K]], Iterable[R]],
        *,
        on_timer: Callable[[S, Timer, Context[K]], Iterable[R]] | None = None,
        ttl: Duration | None = None,
        name: str | None = None,
        par: int | None = None,
        on_error: OnError = "fail",
    ) -> Stream[R]:
        """A function with a state for each key, for all that has no name of its own.

        `state()` makes an object for the first record of a key; the function changes it and yields results.
        Two kinds of records need no second function: merge the streams and ask `isinstance`.

        `context.timer(at)` and `context.alarm(after)` have `on_timer` called in event time or by the wall
        clock. A key without a record for `ttl` of event time is forgotten.

        >>> def changes(last: list, word: str, context: Context) -> Iterable:
        ...     if last and last[0] != word:
        ...         yield context.key, last[0], word
        ...     last[:] = [word]
        >>> made(words.key_by(len).process(list, changes))
        [(2, 'to', 'be'), (2, 'be', 'or'), (2, 'or', 'to'), (2, 'to', 'be')]
        """
        checked_function("process", state)
        checked_function("process", fn, many=True)
        if on_timer is not None:
            checked_function("process", on_timer, many=True)
        refuse_unless(
            ttl is None or self._stream.timed,
            f"process: ttl={ttl!r} goes by event time, and {self._stream._step!r} has none",
            hint=".event_time(lambda record: record.at, lag='5s') behind read",
        )
        forget = None if ttl is None else checked_micros("process: ttl", ttl)
        return self._then(ProcessOp(state, fn, on_timer, forget), fn, name=name, par=par, on_error=on_error)

    def window(
        self,
        windows: Windows,
        *,
        lateness: Duration = 0,
        trigger: Trigger = AtWatermark(),  # noqa: B008 - plain data
        panes: Panes = "accumulating",
    ) -> Windowed[K, T_co]:
        """The records of each key, in windows of event time: `clicks.key_by(user).window(sessions("30m"))`.

        A window takes records until the watermark has passed its end by `lateness`. `trigger` says when it
        speaks, `panes` how its results refine each other.

        >>> timed = words.event_time(len, unit="s", lag="0s")
        >>> made(timed.key_by(lambda word: word).window(tumbling("1m")).count())[0]
        Result(key='to', value=2, window=Window(...), pane=Pane(index=0, timing='on_time', last=True))
        """
        return Windowed(self._stream, self._key, windows, lateness, trigger, panes)

    def rolling(
        self, aggregate: Aggregate[T_co, A, R], *, name: str | None = None, par: int | None = None
    ) -> Stream[tuple[K, R]]:
        """The aggregate of a key so far, after each of its records.

        >>> made(words.key_by(len).rolling(agg.count()))
        [(2, 1), (2, 2), (2, 3), (3, 1), (2, 4), (2, 5)]
        """
        checked_aggregate("rolling", aggregate)
        return self._then(RollingOp(aggregate), aggregate, name=name, par=par)

    def aggregate(
        self, aggregate: Aggregate[T_co, A, R], *, name: str | None = None, par: int | None = None
    ) -> Stream[tuple[K, R]]:
        """The aggregate of each key, at the end: `trips.key_by(zone).aggregate(agg.mean(price))`.

        >>> made(words.key_by(len).aggregate(agg.to_set()))
        [(2, {...}), (3, {'not'})]
        """
        checked_aggregate("aggregate", aggregate)
        checked_end_of_input("aggregate", self._stream._step, self.bounded)
        return self._then(AggregateOp(aggregate, keyed=True), aggregate, name=name, par=par)

    def count(self, *, name: str | None = None, par: int | None = None) -> Stream[tuple[K, int]]:
        """How many records each key has, at the end.

        >>> made(words.key_by(str.upper).count())
        [('TO', 2), ('BE', 2), ('OR', 1), ('NOT', 1)]
        """
        return self._at_the_end("count", agg.count(), name, par)

    def top(
        self, n: int, by: Callable[[T_co], Any], *, name: str | None = None, par: int | None = None
    ) -> Stream[tuple[K, list[T_co]]]:
        """The `n` records of each key with the greatest `by`, at the end.

        >>> made(words.key_by(len).top(2, by=lambda word: word))
        [(2, ['to', 'to']), (3, ['not'])]
        """
        checked_function("top", by)
        return self._at_the_end("top", agg.top(n, by), name, par)

    def _at_the_end(
        self, word: str, aggregate: Aggregate[Any, Any, Any], name: str | None, par: int | None
    ) -> Stream[Any]:
        checked_end_of_input(word, self._stream._step, self.bounded)
        return self._then(AggregateOp(aggregate, keyed=True), called=word, name=name, par=par)

    def dedup(
        self, *, within: Duration | None = None, name: str | None = None, par: int | None = None
    ) -> Stream[T_co]:
        """The first record of each key; with `within`, those with no other that came before them and was
        handed on less than that apart in event time, whichever of the two is older.

        With `within` records are forgotten when the watermark has left them so far behind: one that is late
        may be handed on though it is near them.

        >>> made(words.key_by(lambda word: word).dedup())
        ['to', 'be', 'or', 'not']
        >>> timed = words.event_time(len, unit="s", lag="0s")
        >>> made(timed.key_by(lambda word: word[0]).dedup(within="1m"))
        ['to', 'be', 'or', 'not']
        """
        if within is None:
            return self._then(DedupOp(), name=name, par=par)
        refuse_unless(
            self._stream.timed,
            f"dedup: within=… goes by event time, and {self._stream._step!r} has none",
            hint=".event_time(lambda record: record.at, lag='5s') behind read",
        )
        apart = checked_micros("dedup: within", within)
        op = ProcessOp(FirstSeen, functools.partial(first_within, apart), ttl=apart)
        return self._then(op, called="dedup", name=name, par=par)

    def co_group(
        self, other: KeyedStream[K, B], *, name: str | None = None, par: int | None = None
    ) -> Stream[Result[K, tuple[list[T_co], list[B]]]]:
        """For each key all records of both streams, at the end. Lists may be empty, not both.

        >>> long = words.filter(lambda word: len(word) > 2)
        >>> made(words.key_by(len).co_group(long.key_by(len)).filter(lambda r: r.key == 3))
        [Result(key=3, value=(['not'], ['not']))]
        """
        return self._with("co_group", other, None, name, par)

    @overload
    def join(
        self,
        other: KeyedStream[K, B],
        *,
        how: Literal["inner"] = ...,
        name: str | None = ...,
        par: int | None = ...,
    ) -> Stream[Result[K, tuple[T_co, B]]]: ...
    @overload
    def join(
        self,
        other: KeyedStream[K, B],
        *,
        how: Literal["left"],
        name: str | None = ...,
        par: int | None = ...,
    ) -> Stream[Result[K, tuple[T_co, B | None]]]: ...
    @overload
    def join(
        self,
        other: KeyedStream[K, B],
        *,
        how: Literal["right"],
        name: str | None = ...,
        par: int | None = ...,
    ) -> Stream[Result[K, tuple[T_co | None, B]]]: ...
    @overload
    def join(
        self,
        other: KeyedStream[K, B],
        *,
        how: Literal["outer"],
        name: str | None = ...,
        par: int | None = ...,
    ) -> Stream[Result[K, tuple[T_co | None, B | None]]]: ...
    def join(
        self,
        other: KeyedStream[K, B],
        *,
        how: How = "inner",
        name: str | None = None,
        par: int | None = None,
    ) -> Stream[Any]:
        """Each pair of records with the same key, at the end; None where a side is missing.

        >>> long = words.filter(lambda word: len(word) > 2)
        >>> made(long.key_by(len).join(words.key_by(len)))
        [Result(key=3, value=('not', 'not'))]
        """
        checked_how("join", how, ("inner", "left", "right", "outer"))
        return self._with("join", other, how, name, par)

    def _with(
        self, word: str, other: KeyedStream[Any, Any], how: How | None, name: str | None, par: int | None
    ) -> Stream[Any]:
        refuse_unless(
            isinstance(other, KeyedStream),
            f"{word} takes a keyed stream, got {other!r}",
            hint=f".{word}(other.key_by(…))",
        )
        self._stream._of_one_pipeline(word, other._stream)
        for side in (self, other):
            checked_end_of_input(word, side._stream._step, side.bounded)
        inputs = (self._read(), other._read(slot=1))
        step = self._stream._steps.add(CoGroupOp(how), inputs, called=word, name=name, par=par)
        return self._stream._of(step.name)
