"""How each streamlet becomes steps of a pipeline."""

from __future__ import annotations

import abc
import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from heronpy.pipeline import Pipeline, Stream, agg
from heronpy.pipeline.agg import Aggregate
from heronpy.pipeline.graph import How
from heronpy.pipeline.records import Result
from heronpy.pipeline.watermarks import ARRIVAL
from heronpy.pipeline.windows import Windows, sliding
from heronpy.state import HashMapState
from heronpy.streamlet.generator import Generator
from heronpy.streamlet.impl.generator_source import GeneratorSource
from heronpy.streamlet.impl.partitions import Partitions, Routed, keys_of_partitions
from heronpy.streamlet.impl.streamlet_sinks import ConsumeSink, LogSink
from heronpy.streamlet.impl.transformed import Transformed
from heronpy.streamlet.keyedwindow import KeyedWindow
from heronpy.streamlet.transformoperator import TransformOperator
from heronpy.streamlet.window import Window
from heronpy.streamlet.windowconfig import WindowConfig

Function = Callable[..., Any]


@dataclass(frozen=True)
class StreamletPlace:
    """Where in a pipeline a streamlet's steps go."""

    pipeline: Pipeline
    name: str
    parents: tuple[str, ...]
    partitions: Partitions
    #: whether there are windows, so that elements need the time of their arrival
    timed: bool

    @property
    def par(self) -> int:
        return self.partitions.count


class StreamletStep(abc.ABC):
    """How a streamlet is made of its parents."""

    #: whether it has windows
    windowed: ClassVar[bool] = False

    @abc.abstractmethod
    def add(self, place: StreamletPlace, *streams: Stream[Any]) -> Stream[Any] | None:
        """Its steps, behind the streams of its parents; the stream that it becomes, if it is no end."""


@dataclass(frozen=True)
class Generating(StreamletStep):
    generator: Generator

    def add(self, place: StreamletPlace, *streams: Stream[Any]) -> Stream[Any]:  # noqa: ARG002 - has none
        source = GeneratorSource(self.generator, place.partitions)
        stream = place.pipeline.read(source, name=place.name, par=place.par)
        if not place.timed:
            return stream
        return stream.event_time(_not_asked, lag=ARRIVAL, name=f"{place.name}.time")


@dataclass(frozen=True)
class Mapping(StreamletStep):
    function: Function

    def add(self, place: StreamletPlace, *streams: Stream[Any]) -> Stream[Any]:
        return streams[0].map(self.function, name=place.name, par=place.par)


@dataclass(frozen=True)
class FlatMapping(StreamletStep):
    function: Function

    def add(self, place: StreamletPlace, *streams: Stream[Any]) -> Stream[Any]:
        function = self.function

        def items(element: Any) -> Iterable[Any]:
            made = function(element)
            return made if isinstance(made, Iterable) else (made,)

        return streams[0].flat_map(items, name=place.name, par=place.par)


@dataclass(frozen=True)
class Filtering(StreamletStep):
    function: Function

    def add(self, place: StreamletPlace, *streams: Stream[Any]) -> Stream[Any]:
        return streams[0].filter(self.function, name=place.name, par=place.par)


@dataclass(frozen=True)
class Dealing(StreamletStep):
    """A repartition without a function."""

    def add(self, place: StreamletPlace, *streams: Stream[Any]) -> Stream[Any]:
        dealt = streams[0].rebalance(name=f"{place.name}.deal")
        return dealt.map(_same, name=place.name, par=place.par)


@dataclass(frozen=True)
class Repartitioning(StreamletStep):
    function: Function

    def add(self, place: StreamletPlace, *streams: Stream[Any]) -> Stream[Any]:
        keys = keys_of_partitions(place.par, place.pipeline.key_groups)
        choose = functools.partial(_chosen, self.function, _takes_two(self.function), keys)
        routed = streams[0].flat_map(choose, name=f"{place.name}.route")
        keyed = routed.key_by(_key, name=f"{place.name}.key")
        return keyed.process(list, _arrived, name=place.name, par=place.par)


@dataclass(frozen=True)
class Uniting(StreamletStep):
    def add(self, place: StreamletPlace, *streams: Stream[Any]) -> Stream[Any]:
        first, *others = streams
        return first.merge(*others, name=place.name)


@dataclass(frozen=True)
class Transforming(StreamletStep):
    operator: TransformOperator

    def add(self, place: StreamletPlace, *streams: Stream[Any]) -> Stream[Any]:
        keys = keys_of_partitions(place.par, place.pipeline.key_groups)
        keyed = streams[0].key_by(Routed(keys), name=f"{place.name}.key")
        transformed = Transformed(self.operator, place.parents[0], place.partitions, keys)
        return keyed.process(HashMapState, transformed, name=place.name, par=place.par)


@dataclass(frozen=True)
class Logging(StreamletStep):
    def add(self, place: StreamletPlace, *streams: Stream[Any]) -> None:
        streams[0].write(LogSink(), name=place.name, par=place.par)


@dataclass(frozen=True)
class Consuming(StreamletStep):
    function: Function

    def add(self, place: StreamletPlace, *streams: Stream[Any]) -> None:
        streams[0].write(ConsumeSink(self.function), name=place.name, par=place.par)


@dataclass(frozen=True)
class ReducingByWindow(StreamletStep):
    window: WindowConfig
    function: Function
    windowed = True

    def add(self, place: StreamletPlace, *streams: Stream[Any]) -> Stream[Any]:
        function = self.function
        # a tuple, so that a result of None is one
        folded: Aggregate[Any, tuple[Any], Any] = Aggregate(
            "reduce_by_window",
            create=lambda: (None,),
            add=lambda so_far, element: (function(so_far[0], element),),
            finish=lambda so_far: so_far[0],
        )
        results = streams[0].window(_windows(self.window)).aggregate(folded, name=place.name)
        return results.map(lambda found: (_window_of(found), found.value), name=f"{place.name}.result")


@dataclass(frozen=True)
class ReducingByKeyAndWindow(StreamletStep):
    window: WindowConfig
    function: Function
    windowed = True

    def add(self, place: StreamletPlace, *streams: Stream[Any]) -> Stream[Any]:
        reduced = agg.reduce(self.function)
        combine = reduced.combine
        assert combine is not None
        of_values = dataclasses.replace(reduced, add=lambda so_far, pair: combine(so_far, (pair[1],)))
        keyed = streams[0].key_by(_key, name=f"{place.name}.key")
        results = keyed.window(_windows(self.window)).aggregate(of_values, name=place.name, par=place.par)
        return results.map(lambda found: (_keyed_window(found), found.value), name=f"{place.name}.result")


@dataclass(frozen=True)
class Joining(StreamletStep):
    how: How
    window: WindowConfig
    function: Function
    windowed = True

    def add(self, place: StreamletPlace, *streams: Stream[Any]) -> Stream[Any]:
        left, right = (
            stream.key_by(_key, name=f"{place.name}.{side}")
            for stream, side in zip(streams, ("left", "right"), strict=True)
        )
        grouped = left.window(_windows(self.window)).co_group(right, name=place.name, par=place.par)
        function, left_too, right_too = (
            self.function,
            self.how in ("left", "outer"),
            self.how in ("right", "outer"),
        )

        def joined(found: Result[Any, tuple[list[Any], list[Any]]]) -> Iterable[Any]:
            window = _keyed_window(found)
            lefts, rights = ([pair[1] for pair in side] for side in found.value)
            lefts = lefts or ([None] if right_too else [])
            rights = rights or ([None] if left_too else [])
            for one in lefts:
                for other in rights:
                    yield window, function(one, other)

        return grouped.flat_map(joined, name=f"{place.name}.result")


def _windows(config: WindowConfig) -> Windows:
    return sliding(config._window_duration, every=config._slide_interval)


def _window_of(found: Result[Any, Any]) -> Window:
    return Window(int(found.window.start.timestamp()), int(found.window.end.timestamp()))


def _keyed_window(found: Result[Any, Any]) -> KeyedWindow:
    return KeyedWindow(found.key, _window_of(found))


def _key(pair: Any) -> Any:
    if not isinstance(pair, Iterable) or len(pair) != 2:  # type: ignore[arg-type]  # then it raises by itself
        msg = "elements must be pairs of key and value"
        raise TypeError(msg)
    return pair[0]  # type: ignore[index]


def _same(element: Any) -> Any:
    return element


def _not_asked(element: Any) -> int:  # noqa: ARG001 - elements have the time of their arrival
    return 0


def _takes_two(function: Function) -> bool:
    """Whether a repartition function wants to know how many partitions there are."""
    try:
        inspect.signature(function).bind(None, 1)
    except (TypeError, ValueError):
        return False
    return True


def _chosen(function: Function, takes_two: bool, keys: tuple[int, ...], element: Any) -> Iterable[Any]:
    """The element with the key of each of its partitions."""
    found = function(element, len(keys)) if takes_two else function(element)
    chosen = found if isinstance(found, Iterable) else (found,)
    return [(keys[partition % len(keys)], element) for partition in chosen]


def _arrived(state: list[Any], pair: tuple[int, Any], context: Any) -> Iterable[Any]:  # noqa: ARG001
    return (pair[1],)
