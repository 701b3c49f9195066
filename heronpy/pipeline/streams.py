"""Streams: what a pipeline's steps make and read. Nothing runs while they are written."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator
from datetime import datetime
from typing import Any, Generic, Literal, NoReturn, TypeVar, overload

from heronpy.connectors import Sink
from heronpy.kernel.errors import UserError
from heronpy.pipeline import agg
from heronpy.pipeline.agg import Aggregate
from heronpy.pipeline.building import (
    Steps,
    checked_aggregate,
    checked_end,
    checked_end_of_input,
    checked_function,
    checked_how,
)
from heronpy.pipeline.checks import Duration, checked_duration, checked_micros, refuse_unless
from heronpy.pipeline.graph import (
    ERRORS,
    LATE,
    MAIN,
    MATCHING,
    OTHERS,
    AggregateOp,
    EventTimeOp,
    FilterOp,
    FlatMapOp,
    HashJoinOp,
    KeyByOp,
    MapAsyncOp,
    MapOp,
    MergeOp,
    OnError,
    OnlyOp,
    Op,
    Panes,
    PartitionOp,
    ProcessOp,
    RebalanceOp,
    StepInput,
    TimeUnit,
    WindowOp,
    WriteOp,
)
from heronpy.pipeline.keyed_streams import KeyedStream
from heronpy.pipeline.records import Failed, Result, Tag
from heronpy.pipeline.triggers import AtWatermark, Trigger
from heronpy.pipeline.watermarks import Watermarks, checked_watermarks
from heronpy.pipeline.windowed import Windowed
from heronpy.pipeline.windows import Windows, WindowsOfResults

T = TypeVar("T")
U = TypeVar("U")
V = TypeVar("V")
W = TypeVar("W")
X = TypeVar("X")
B = TypeVar("B")
S = TypeVar("S")
A = TypeVar("A")
R = TypeVar("R")
K = TypeVar("K", bound=Hashable)
T_co = TypeVar("T_co", covariant=True)


class Stream(Generic[T_co]):
    """Records of one type, on their way. A method that returns a stream adds a step and changes nothing else.

    Each step takes `name=` (else it is called by operation and function: `flat_map:split`) and, where tasks
    matter, `par=`. The name of a step that keeps state is the name of its state.

    In the examples `words` has the words of "to be or not to be"; `made` runs a stream and lists its records.
    """

    def __init__(self, steps: Steps, step: str, output: str = MAIN) -> None:
        self._steps, self._step, self._output = steps, step, output

    def __repr__(self) -> str:
        return f"<stream of {self._step}{'.' if self._output else ''}{self._output}>"

    @property
    def bounded(self) -> bool:
        """Whether it ends."""
        return self._steps[self._step].bounded

    @property
    def timed(self) -> bool:
        """Whether its records have event time."""
        return self._steps[self._step].timed

    def _of(self, step: str) -> Stream[Any]:
        """The stream of another step of the pipeline."""
        return Stream(self._steps, step)

    def _results_of(self, step: str) -> Results[Any, Any, Any]:
        """The results of a window step of the pipeline."""
        return Results(self._steps, step)

    def _read(self, slot: int = 0) -> StepInput:
        return StepInput(self._step, self._output, slot)

    def _then(self, op: Op, function: object = None, **options: Any) -> Stream[Any]:
        step = self._steps.add(op, (self._read(),), function=function, **options)
        return Stream(self._steps, step.name)

    def map(
        self,
        fn: Callable[[T_co], U],
        *,
        name: str | None = None,
        par: int | None = None,
        on_error: OnError = "fail",
    ) -> Stream[U]:
        """One record for each: `words.map(str.lower)`.

        `on_error` says what becomes of a record for which the function raises: "fail" ends the run, "skip"
        drops and counts it, "aside" sends it to `.errors`.

        >>> made(words.map(str.upper))
        ['TO', 'BE', 'OR', 'NOT', 'TO', 'BE']
        """
        checked_function("map", fn)
        return self._then(MapOp(fn), fn, name=name, par=par, on_error=on_error)

    def flat_map(
        self,
        fn: Callable[[T_co], Iterable[U]],
        *,
        name: str | None = None,
        par: int | None = None,
        on_error: OnError = "fail",
    ) -> Stream[U]:
        """Any number of records for each: `lines.flat_map(str.split)`, or a function that yields.

        With "skip" or "aside" a record for which the function raises leaves nothing behind.

        >>> made(words.flat_map(lambda word: [word] * (len(word) - 1)))
        ['to', 'be', 'or', 'not', 'not', 'to', 'be']
        """
        checked_function("flat_map", fn, many=True)
        return self._then(FlatMapOp(fn), fn, name=name, par=par, on_error=on_error)

    def filter(
        self,
        fn: Callable[[T_co], bool],
        *,
        name: str | None = None,
        par: int | None = None,
        on_error: OnError = "fail",
    ) -> Stream[T_co]:
        """The records for which the function is true: `words.filter(str.isalpha)`.

        >>> made(words.filter(lambda word: "o" in word))
        ['to', 'or', 'not', 'to']
        """
        checked_function("filter", fn)
        return self._then(FilterOp(fn), fn, name=name, par=par, on_error=on_error)

    @overload
    def only(self, a: type[U], /, *, name: str | None = ...) -> Stream[U]: ...
    @overload
    def only(self, a: type[U], b: type[V], /, *, name: str | None = ...) -> Stream[U | V]: ...
    @overload
    def only(self, a: type[U], b: type[V], c: type[W], /, *, name: str | None = ...) -> Stream[U | V | W]: ...
    @overload
    def only(
        self, a: type[U], b: type[V], c: type[W], d: type[X], /, *, name: str | None = ...
    ) -> Stream[U | V | W | X]: ...
    def only(self, *kinds: type[Any], name: str | None = None) -> Stream[Any]:
        """The records of one to four classes, with their type: `bids = events.only(Bid)`.

        >>> made(words.map(lambda word: len(word) if word == "not" else word).only(int))
        [3]
        """
        sound = bool(kinds) and all(isinstance(kind, type) for kind in kinds)
        refuse_unless(
            sound,
            f"only takes classes, got {', '.join(map(repr, kinds)) or 'none'}",
            hint=".only(Bid), or .filter(lambda record: …)",
        )
        return self._then(OnlyOp(kinds), kinds[0], name=name)

    def partition(
        self, fn: Callable[[T_co], bool], *, name: str | None = None, on_error: OnError = "fail"
    ) -> tuple[Stream[T_co], Stream[T_co]]:
        """Two streams: the records for which the function is true, and the others.

        >>> long, short = words.partition(lambda word: len(word) > 2)
        >>> made(long), made(short)
        (['not'], ['to', 'be', 'or', 'to', 'be'])
        """
        checked_function("partition", fn)
        step = self._then(PartitionOp(fn), fn, name=name, on_error=on_error)._step
        return Stream(self._steps, step, MATCHING), Stream(self._steps, step, OTHERS)

    def merge(self, *others: Stream[U], name: str | None = None) -> Stream[T_co | U]:
        """The records of several streams as one, in no particular order.

        >>> sorted(made(words.merge(words.map(len))), key=str)
        [2, 2, 2, 2, 2, 3, 'be', 'be', 'not', 'or', 'to', 'to']
        """
        self._of_one_pipeline("merge", *others)
        step = self._steps.add(MergeOp(), (self._read(), *(other._read() for other in others)), name=name)
        return Stream(self._steps, step.name)

    def rebalance(self, *, name: str | None = None) -> Stream[T_co]:
        """The same records, dealt out evenly over the tasks of the next step."""
        return self._then(RebalanceOp(), name=name)

    def map_async(
        self,
        fn: Callable[[T_co], Awaitable[U]],
        *,
        at_once: int,
        ordered: bool = True,
        timeout: Duration | None = None,
        retries: int = 0,
        name: str | None = None,
        par: int | None = None,
        on_error: OnError = "fail",
    ) -> Stream[U]:
        """One record for each, by awaiting, with at most `at_once` calls under way: requests, look-ups.

        Results keep the order of their records unless `ordered=False`. A call that raises, or takes longer
        than `timeout` ("10s", seconds or a timedelta), is made `retries` times more, after 0.1 s, 0.2 s, 0.4
        s and so on up to 10 s, less up to half of it by chance; meanwhile it keeps its place among `at_once`.

        No call is under way at a checkpoint: those of the records that came before its barrier are waited
        for. After a crash, calls for records behind the last checkpoint are made again.

        >>> async def look_up(word: str) -> int:
        ...     return len(word)  # await session.get(…)
        >>> made(words.map_async(look_up, at_once=100))
        [2, 2, 2, 3, 2, 2]
        """
        refuse_unless(
            callable(fn),
            f"map_async takes an async function, got {fn!r}",
            hint="async def look_up(record): …",
        )
        refuse_unless(at_once >= 1, f"map_async with at_once={at_once} never calls", hint="at_once=100")
        refuse_unless(
            isinstance(retries, int) and retries >= 0,
            f"map_async: retries={retries!r} is not a number of further calls",
            hint="retries=3",
        )
        limit = None if timeout is None else checked_duration("map_async: timeout", timeout)
        op = MapAsyncOp(fn, at_once, ordered, limit, retries)
        return self._then(op, fn, name=name, par=par, on_error=on_error)

    @overload
    def hash_join(
        self,
        table: Stream[B],
        *,
        on: Callable[[T_co], K],
        key: Callable[[B], K],
        how: Literal["inner"] = ...,
        name: str | None = ...,
    ) -> Stream[tuple[T_co, B]]: ...
    @overload
    def hash_join(
        self,
        table: Stream[B],
        *,
        on: Callable[[T_co], K],
        key: Callable[[B], K],
        how: Literal["left"],
        name: str | None = ...,
    ) -> Stream[tuple[T_co, B | None]]: ...
    def hash_join(
        self,
        table: Stream[B],
        *,
        on: Callable[[T_co], K],
        key: Callable[[B], K],
        how: Literal["inner", "left"] = "inner",
        name: str | None = None,
    ) -> Stream[Any]:
        """Each record with each row of a table that has its key; with `how="left"` also those without one.

        The table is a bounded stream. Every task reads all of it before its first record, and again at each
        start: `bids.hash_join(items, on=lambda bid: bid.item, key=lambda item: item.id)`.

        >>> french = p.read(sources.items([("be", "être"), ("or", "ou")]))
        >>> made(words.hash_join(french, on=lambda word: word, key=lambda row: row[0]))[:2]
        [('be', ('be', 'être')), ('or', ('or', 'ou'))]
        """
        self._of_one_pipeline("hash_join", table)
        checked_function("hash_join", on)
        checked_function("hash_join", key)
        checked_how("hash_join", how, ("inner", "left"))
        refuse_unless(
            table.bounded,
            f"hash_join with {table._step!r}, which never ends, would wait for ever for its table",
            hint="a table from a bounded source, or .merge(…).key_by(…).process(…)",
        )
        op = HashJoinOp(on, key, how)
        step = self._steps.add(op, (self._read(), table._read(slot=1)), name=name)
        return Stream(self._steps, step.name)

    def event_time(
        self,
        by: Callable[[T_co], datetime | float],
        *,
        lag: Duration | Watermarks,
        unit: TimeUnit | None = None,
        idle: Duration | None = None,
        future: Duration | Literal["any"] | None = None,
        ahead: Duration | None = None,
        name: str | None = None,
        on_error: OnError = "fail",
    ) -> Stream[T_co]:
        """The same records, each with the time at which it happened, by which windows go.

        `by` gives an aware datetime, or a number of `unit` since the epoch. `lag` says how much older than
        the newest a record may be: "5s", or a strategy of `heronpy.pipeline.watermarks`. A split that has had
        nothing for `idle` is not waited for, nor is, behind an exchange, a task that has had nothing. A split
        that is further than `ahead` before the slowest of its task is not read until that has come after.

        A record that is further than `future` ahead of the clock has a wrong time: it is counted, or goes to
        `.errors` with `on_error="aside"`, and moves no watermark. In a stream that never ends that is an
        hour, unless `future` says otherwise, or "any".

        >>> timed = words.event_time(len, unit="s", lag="1s")
        >>> made(timed.window(tumbling("1m")).count())[0].value
        6
        """
        checked_function("event_time", by)
        refuse_unless(
            unit in (None, "s", "ms", "us"), f"event_time: unit={unit!r} is not known", hint="unit='ms'"
        )
        op = EventTimeOp(
            by,
            checked_watermarks(lag),
            unit,
            None if idle is None else checked_micros("event_time: idle", idle),
            self._checked_future(future),
            None if ahead is None else checked_micros("event_time: ahead", ahead),
        )
        return self._then(op, by, name=name, on_error=on_error)

    def _checked_future(self, future: Duration | Literal["any"] | None) -> int | None:
        if future == "any" or (future is None and self.bounded):
            return None
        return checked_micros("event_time: future", "1h" if future is None else future)

    def window(
        self,
        windows: Windows,
        *,
        lateness: Duration = 0,
        trigger: Trigger = AtWatermark(),  # noqa: B008 - plain data
        panes: Panes = "accumulating",
    ) -> Windowed[None, T_co]:
        """All records, in windows of event time: `bids.window(tumbling("10s")).maxima(price)`.

        >>> timed = words.event_time(len, unit="s", lag="0s")
        >>> made(timed.window(sliding("2s", every="1s")).count().map(lambda r: r.value))
        [5, 6, 1]
        """
        return Windowed(self, None, windows, lateness, trigger, panes)

    def key_by(self, fn: Callable[[T_co], K], *, name: str | None = None) -> KeyedStream[K, T_co]:
        """The same records, each with a key. All records of a key meet in one task."""
        checked_function("key_by", fn)
        return KeyedStream(self, self._then(KeyByOp(fn), fn, name=name)._step)

    def aggregate(self, aggregate: Aggregate[T_co, A, R], *, name: str | None = None) -> Stream[R]:
        """One value of all records, at the end: `words.aggregate(agg.distinct())`.

        >>> made(words.aggregate(agg.distinct()))
        [4]
        """
        checked_aggregate("aggregate", aggregate)
        checked_end_of_input("aggregate", self._step, self.bounded)
        return self._then(AggregateOp(aggregate, keyed=False), aggregate, name=name)

    def count(self, *, name: str | None = None) -> Stream[int]:
        """How many records there are, at the end.

        >>> made(words.count())
        [6]
        """
        checked_end_of_input("count", self._step, self.bounded)
        return self._then(AggregateOp(agg.count(), keyed=False), called="count", name=name)

    def top(self, n: int, by: Callable[[T_co], Any], *, name: str | None = None) -> Stream[list[T_co]]:
        """The `n` records with the greatest `by`, as one list, at the end.

        >>> made(words.key_by(lambda word: word).count().top(1, by=lambda pair: pair[1]))
        [[('to', 2)]]
        """
        checked_function("top", by)
        checked_end_of_input("top", self._step, self.bounded)
        return self._then(AggregateOp(agg.top(n, by), keyed=False), called="top", name=name)

    def __getitem__(self, tag: Tag[U]) -> Stream[U]:
        """A side output of `process`: what its function gave to `context.side(tag, …)`.

        >>> loud = Tag[str]("loud")
        >>> def route(state: list, word: str, context: Context) -> Iterable[str]:
        ...     context.side(loud, word.upper())
        ...     return []
        >>> made(words.key_by(len).process(list, route)[loud])[:2]
        ['TO', 'BE']
        """
        refuse_unless(
            isinstance(tag, Tag),
            f"{self._step!r}[{tag!r}]: a stream has side outputs, not positions",
            hint="stream[Tag[str]('slow')]",
        )
        refuse_unless(
            isinstance(self._steps[self._step].op, ProcessOp),
            f"{self._step!r} has no side output {tag.name!r}: only process has side outputs",
            hint=".partition(fn), or context.side(tag, value) in .process(state, fn)",
        )
        return Stream(self._steps, self._step, f"tag:{tag.name}")

    def __iter__(self) -> Iterator[NoReturn]:
        msg = f"the stream of {self._step!r} has no records before it runs"
        raise UserError(msg, hint="stream.write(sinks.collected()), then pipeline.run()")

    @property
    def errors(self) -> Stream[Failed[Any]]:
        """The records for which a step with `on_error="aside"` raised, each with step and traceback.

        >>> made(words.map(int, on_error="aside").errors)[0].error
        "ValueError: invalid literal for int() with base 10: 'to'"
        """
        refuse_unless(
            self._steps[self._step].on_error == "aside",
            f"{self._step!r} sends no errors aside",
            hint="on_error='aside' for that step",
        )
        return Stream(self._steps, self._step, ERRORS)

    def write(self, sink: Sink[T_co], *, name: str | None = None, par: int | None = None) -> None:
        """Put the records into a sink; a stream may be written to several."""
        checked_end("write", sink, Sink, hint=".write(sinks.printed())")
        self._then(WriteOp(sink), called=sink.name, name=name, par=par)

    def _of_one_pipeline(self, word: str, *others: Stream[Any]) -> None:
        for other in others:
            refuse_unless(
                isinstance(other, Stream),
                f"{word} takes streams, got {other!r}",
                hint="the stream before its .key_by(…)",
            )
            theirs, ours = other._steps.pipeline, self._steps.pipeline
            msg = f"{word}: {other._step!r} belongs to the pipeline {theirs!r}, not to {ours!r}"
            refuse_unless(other._steps is self._steps, msg, hint="read the source in both")


class Results(Stream[Result[K, R]], Generic[K, T, R]):
    """The results of windows. Records that came when their windows had expired are in `late`."""

    @property
    def late(self) -> Stream[T]:
        """The late records, which are dropped and counted if nothing reads them here."""
        return Stream(self._steps, self._step, LATE)

    def by_window(self) -> Windowed[None, Result[K, R]]:
        """The results of one window together: `counts.by_window().maxima(lambda r: r.value)`."""
        op = self._steps[self._step].op
        assert isinstance(op, WindowOp)
        once = op.trigger == AtWatermark() and not op.lateness
        refuse_unless(
            once or op.panes != "accumulating",
            f"by_window of {self._step!r}, whose panes repeat what others said, counts keys more than once",
            hint="panes='retracting' with an aggregate that deducts, or 'discarding'",
        )
        lateness = op.lateness / 1_000_000
        return Windowed(self, None, WindowsOfResults(), lateness, AtWatermark(), "accumulating")
