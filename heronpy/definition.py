"""What `spec.get_protobuf()` returns: a spec's edges and outputs, shaped like Apache Heron's messages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class StreamId(NamedTuple):
    """A stream, and the component that emits it."""

    id: str
    component_name: str


@dataclass(frozen=True)
class ComponentMessage:
    """Name and class of a component."""

    name: str
    class_name: str


@dataclass(frozen=True)
class InputStream:
    """One stream that a component reads."""

    stream: StreamId
    gtype: int


@dataclass(frozen=True)
class Key:
    """One field."""

    key: str


@dataclass(frozen=True)
class StreamSchema:
    """The fields of a stream."""

    keys: list[Key]


@dataclass(frozen=True)
class OutputStream:
    """One stream that a component emits."""

    stream: StreamId
    schema: StreamSchema


@dataclass(frozen=True)
class SpecMessage:
    """A spout or a bolt."""

    comp: ComponentMessage
    inputs: list[InputStream] = field(default_factory=list)
    outputs: list[OutputStream] = field(default_factory=list)
