"""Spouts and bolts as the source or the sink of a pipeline on the engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar

from heronpy.bolt import BaseBolt
from heronpy.connectors.sink import Sink, Writer
from heronpy.connectors.source import Reader, Source
from heronpy.errors import DefinitionError
from heronpy.kernel.errors import UserError
from heronpy.spout import BaseSpout
from heronpy.stream import Stream

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


def _as_tuple(*values: Any) -> Any:
    return values


@dataclass(frozen=True)
class SpoutSource(Source[T_co]):
    """The tuples of a spout's default stream: it runs as it does in a topology, with acks, state and splits.

    A record is what `as_` makes of the values of a tuple, one argument each; without `as_`, the values. Only
    the engine runs spouts.
    """

    component: type[BaseSpout]
    as_: Callable[..., T_co] = _as_tuple
    config: Mapping[str, Any] = field(default_factory=dict)
    #: whether it calls `finish()` some time
    bounded: bool = False

    def __post_init__(self) -> None:
        _check_class(self.component, BaseSpout, "sources.spout(Words), with class Words(Spout)")

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.component.__name__

    def splits(self) -> NoReturn:
        raise _not_here(self.component)

    def open(self) -> Reader[T_co]:
        raise _not_here(self.component)


@dataclass(frozen=True)
class BoltSink(Sink[Any]):
    """A bolt that ends a pipeline. It gets a record as the field `value`, or its items as `fields`.

    Only the engine runs bolts. How often a record is visible outside after a crash is the bolt's own matter.
    """

    component: type[BaseBolt]
    fields: Sequence[str] = ("value",)
    config: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_class(self.component, BaseBolt, "sinks.bolt(Store), with class Store(Bolt)")
        Stream(list(self.fields))  # checks the names

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.component.__name__

    @property
    def spread(self) -> bool:
        """Whether the items of a record become fields."""
        return tuple(self.fields) != ("value",)

    def open(self, owner: str) -> Writer[Any]:  # noqa: ARG002 - nothing is opened here
        raise _not_here(self.component)


def _check_class(given: object, kind: type, hint: str) -> None:
    if not (isinstance(given, type) and issubclass(given, kind)):
        msg = f"{hint.partition('(')[0]} takes a class, got {given!r}"
        raise DefinitionError(msg, hint=hint)


def _not_here(component: type) -> UserError:
    msg = f"{component.__name__} is a component of topologies, which only the engine runs"
    return UserError(msg, hint="heronpy run FILE --runner engine, or heronpy submit FILE")
