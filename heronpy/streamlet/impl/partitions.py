"""Partitions of a streamlet, each in a task of its own as long as there are as many tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heronpy.kernel.flow.keys import key_group
from heronpy.state import HashMapState
from heronpy.streamlet.context import Context


@dataclass(frozen=True)
class Partitions:
    """How many a streamlet has, and what they know."""

    count: int
    #: the task id of the first
    first: int
    config: Mapping[str, Any]


class PartitionContext(Context):
    """What a generator or an operator knows in one partition; collects what it emits."""

    def __init__(self, partitions: Partitions, index: int, state: HashMapState) -> None:
        self._partitions, self._index, self._state = partitions, index, state
        self._emitted: list[Any] = []

    def get_task_id(self) -> int:
        return self._partitions.first + self._index

    def get_config(self) -> Mapping[str, Any]:
        return self._partitions.config

    def get_stream_name(self) -> str:
        return "output"

    def get_num_partitions(self) -> int:
        return self._partitions.count

    def get_partition_index(self) -> int:
        return self._index

    def get_state(self) -> HashMapState:
        return self._state

    def emit(self, values: Any) -> None:
        self._emitted.append(values)

    def fetch(self) -> list[Any]:
        """What was emitted since this was asked."""
        emitted, self._emitted = self._emitted, []
        return emitted


def keys_of_partitions(count: int, groups: int) -> tuple[int, ...]:
    """A key for each partition, such that each is another task's.

    Tasks own ranges of key groups of equal length, and the key of a partition is the least number whose group
    is in its range. With another number of tasks partitions move as all keys do, whole and with their state.
    """
    found: dict[int, int] = {}
    number = 0
    while len(found) < min(count, groups):
        found.setdefault(key_group(number, groups) * count // groups, number)
        number += 1
    return tuple(found[place] for place in sorted(found))


class Routed:
    """Gives elements to partitions in turn."""

    def __init__(self, keys: tuple[int, ...]) -> None:
        self._keys, self._next = keys, 0
        self.__name__ = "in_turn"

    def __call__(self, element: Any) -> int:  # noqa: ARG002 - whatever it is
        place = self._next
        self._next = (place + 1) % len(self._keys)
        return self._keys[place]
