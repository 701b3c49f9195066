"""Streamlets: elements on their way from sources to ends. Nothing runs while they are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from heronpy.pipeline.building import user_site
from heronpy.pipeline.graph import How
from heronpy.streamlet.impl import streamlet_steps as steps
from heronpy.streamlet.impl.checks import refuse_unless
from heronpy.streamlet.impl.streamlet_steps import StreamletStep
from heronpy.streamlet.transformoperator import TransformOperator
from heronpy.streamlet.windowconfig import WindowConfig


class Streamlet:
    """The elements that a step makes, in one or more partitions."""

    def __init__(self, kind: str, step: StreamletStep, *parents: Streamlet, partitions: int = 1) -> None:
        self._kind, self._step, self._parents, self._num_partitions = kind, step, parents, partitions
        self._name: str | None = None
        self._children: list[Streamlet] = []
        self._site = user_site()
        for parent in dict.fromkeys(parents):
            parent._children.append(self)

    def __repr__(self) -> str:
        return f"the streamlet {self._name or self._kind!r} at {self._site}"

    def set_name(self, name: str) -> Streamlet:
        """What its step is called; else by its operation and a number, `map-1`."""
        self._name = name
        return self

    def get_name(self) -> str | None:
        """None before it is built, if it was given none."""
        return self._name

    def set_num_partitions(self, num_partitions: int) -> Streamlet:
        """In how many tasks its step runs; those that are made of it afterwards begin with as many."""
        self._num_partitions = num_partitions
        return self

    def get_num_partitions(self) -> int:
        return self._num_partitions

    def map(self, map_function: Callable[[Any], Any]) -> Streamlet:
        """One element for each."""
        return self._then("map", steps.Mapping(_function("map", map_function)))

    def flat_map(self, flatmap_function: Callable[[Any], Any]) -> Streamlet:
        """The items of what the function returns for each; a result that has none is an element itself."""
        return self._then("flatmap", steps.FlatMapping(_function("flat_map", flatmap_function)))

    def filter(self, filter_function: Callable[[Any], Any]) -> Streamlet:
        """The elements for which the function is true."""
        return self._then("filter", steps.Filtering(_function("filter", filter_function)))

    def repartition(
        self, num_partitions: int, repartition_function: Callable[..., Any] | None = None
    ) -> Streamlet:
        """The same elements in other partitions.

        The function gets an element, and the number of partitions if it takes two arguments. It returns the
        partition of the element, or a list of several. Without it elements are dealt out in turn.
        """
        if repartition_function is None:
            step: StreamletStep = steps.Dealing()
        else:
            step = steps.Repartitioning(_function("repartition", repartition_function))
        return Streamlet("repartition", step, self, partitions=num_partitions)

    def clone(self, num_clones: int) -> list[Streamlet]:
        """So many streamlets with all elements each."""
        return [self.repartition(self._num_partitions) for _ in range(num_clones)]

    def union(self, other_streamlet: Streamlet) -> Streamlet:
        """The elements of both."""
        return self._with("union", other_streamlet, steps.Uniting())

    def transform(self, transform_operator: TransformOperator) -> Streamlet:
        """What an operator emits for each element; it has a state in each partition."""
        refuse_unless(
            isinstance(transform_operator, TransformOperator),
            f"transform takes a TransformOperator, not {transform_operator!r}",
        )
        return self._then("transform", steps.Transforming(transform_operator))

    def log(self) -> None:
        """Each element as a line of the log."""
        self._then("log", steps.Logging())

    def consume(self, consume_function: Callable[[Any], Any]) -> None:
        """Call a function for each element."""
        self._then("consume", steps.Consuming(_function("consume", consume_function)))

    def reduce_by_window(
        self, window_config: WindowConfig, reduce_function: Callable[[Any, Any], Any]
    ) -> Streamlet:
        """(Window, result) for each window that has elements. The first is reduced with None."""
        step = steps.ReducingByWindow(_window(window_config), _function("reduce_by_window", reduce_function))
        return self._then("reducebywindow", step)

    def reduce_by_key_and_window(
        self, window_config: WindowConfig, reduce_function: Callable[[Any, Any], Any]
    ) -> Streamlet:
        """(KeyedWindow, result) for each key and window of elements that are pairs of key and value."""
        function = _function("reduce_by_key_and_window", reduce_function)
        step = steps.ReducingByKeyAndWindow(_window(window_config), function)
        return Streamlet("reducebykeyandwindow", step, self)

    def join(
        self,
        join_streamlet: Streamlet,
        window_config: WindowConfig,
        join_function: Callable[[Any, Any], Any],
    ) -> Streamlet:
        """(KeyedWindow, result) for each two values of a key, from either side, in one window.

        The elements of both sides are pairs of key and value.
        """
        return self._joined("inner", join_streamlet, window_config, join_function)

    def outer_left_join(
        self,
        join_streamlet: Streamlet,
        window_config: WindowConfig,
        join_function: Callable[[Any, Any], Any],
    ) -> Streamlet:
        """As `join`; a value of this side whose key the other one has not is joined with None."""
        return self._joined("left", join_streamlet, window_config, join_function)

    def outer_right_join(
        self,
        join_streamlet: Streamlet,
        window_config: WindowConfig,
        join_function: Callable[[Any, Any], Any],
    ) -> Streamlet:
        """As `join`; a value of the other side whose key this one has not is joined with None."""
        return self._joined("right", join_streamlet, window_config, join_function)

    def outer_join(
        self,
        join_streamlet: Streamlet,
        window_config: WindowConfig,
        join_function: Callable[[Any, Any], Any],
    ) -> Streamlet:
        """As `join`; a value of either side whose key the other one has not is joined with None."""
        return self._joined("outer", join_streamlet, window_config, join_function)

    def _joined(
        self, how: How, other: Streamlet, window: WindowConfig, function: Callable[[Any, Any], Any]
    ) -> Streamlet:
        return self._with("join", other, steps.Joining(how, _window(window), _function("join", function)))

    def _then(self, kind: str, step: StreamletStep) -> Streamlet:
        return Streamlet(kind, step, self, partitions=self._num_partitions)

    def _with(self, kind: str, other: Streamlet, step: StreamletStep) -> Streamlet:
        refuse_unless(isinstance(other, Streamlet), f"{kind} takes a streamlet, not {other!r}")
        return Streamlet(kind, step, self, other, partitions=self._num_partitions)


def _function(word: str, given: Callable[..., Any]) -> Callable[..., Any]:
    refuse_unless(callable(given), f"{word} takes a function, not {given!r}")
    return given


def _window(given: WindowConfig) -> WindowConfig:
    refuse_unless(
        isinstance(given, WindowConfig),
        f"windows are a WindowConfig, not {given!r}",
        hint="WindowConfig.create_sliding_window(10, 2)",
    )
    return given
