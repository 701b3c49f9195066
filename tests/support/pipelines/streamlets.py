"""Streamlets run in this process, from generators that end."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from heronpy.streamlet.builder import Builder
from heronpy.streamlet.config import Config
from heronpy.streamlet.context import Context
from heronpy.streamlet.generator import Generator
from heronpy.streamlet.streamlet import Streamlet


class Listed(Generator):
    """Gives some elements and ends. With several partitions, each has every so-many-th."""

    def __init__(self, elements: Iterable[Any]) -> None:
        self._elements = list(elements)

    def setup(self, context: Context) -> None:
        self._mine = iter(self._elements[context.get_partition_index() :: context.get_num_partitions()])

    def get(self) -> Any:
        return next(self._mine)


def consumed(elements: Iterable[Any], steps: Callable[[Streamlet], Streamlet]) -> list[Any]:
    """What is consumed behind the steps."""
    builder, found = Builder(), list[Any]()
    steps(builder.new_source(Listed(elements))).consume(found.append)
    builder.build("p", Config()).run()
    return found


def joined(
    left: Iterable[Any], right: Iterable[Any], join: Callable[[Streamlet, Streamlet], Streamlet]
) -> list[Any]:
    """What is consumed of two streamlets."""
    builder, found = Builder(), list[Any]()
    join(builder.new_source(Listed(left)), builder.new_source(Listed(right))).consume(found.append)
    builder.build("p", Config()).run()
    return found
