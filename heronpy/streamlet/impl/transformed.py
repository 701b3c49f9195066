"""A transform operator as the function of a step with a state for each partition."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any, NamedTuple

from heronpy.pipeline.records import Context as KeyContext
from heronpy.state import HashMapState
from heronpy.streamlet.impl.partitions import PartitionContext, Partitions
from heronpy.streamlet.transformoperator import TransformOperator
from heronpy.tuple import tuple_class

_Tuple = tuple_class(("output",))


class _Running(NamedTuple):
    state: HashMapState
    context: PartitionContext
    operator: TransformOperator


class Transformed:
    """Has a copy of the operator for each partition whose elements come here, set up with its state."""

    def __init__(
        self, operator: TransformOperator, parent: str, partitions: Partitions, keys: tuple[int, ...]
    ) -> None:
        self._operator, self._parent, self._partitions, self._keys = operator, parent, partitions, keys
        self._running: dict[int, _Running] = {}
        self.__name__ = type(operator).__name__

    def __call__(self, state: HashMapState, element: Any, context: KeyContext[int]) -> Iterable[Any]:
        running = self._running.get(context.key)
        if running is None or running.state is not state:  # a partition that is new here, or is back
            running = self._running[context.key] = self._set_up(context.key, state)
        running.operator.transform(_Tuple(None, self._parent, "output", 0, [element]))
        return running.context.fetch()

    def _set_up(self, key: int, state: HashMapState) -> _Running:
        context = PartitionContext(self._partitions, self._keys.index(key), state)
        operator = copy.deepcopy(self._operator)
        operator.setup(context)
        return _Running(state, context, operator)
