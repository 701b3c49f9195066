"""The two ends of a pipeline: the shapes of sources and sinks that `read` and `write` take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

T_co = TypeVar("T_co", covariant=True)
T_contra = TypeVar("T_contra", contravariant=True)


class RecordChunk(Protocol[T_co]):
    """Records of one split."""

    @property
    def records(self) -> Sequence[T_co]: ...
    @property
    def split(self) -> str: ...
    @property
    def ended(self) -> bool: ...


class RecordReader(Protocol[T_co]):
    """An open source."""

    def assign(self, positions: Mapping[str, Any], /) -> None: ...
    def poll(self, most: int, /) -> RecordChunk[T_co] | None: ...
    def close(self) -> None: ...


class RecordSource(Protocol[T_co]):
    """Where records come from; ends if it is bounded."""

    @property
    def bounded(self) -> bool: ...
    def check(self) -> None: ...
    def splits(self) -> Sequence[str]: ...
    def open(self) -> RecordReader[T_co]: ...


class RecordWriter(Protocol[T_contra]):
    """An open sink."""

    def write(self, records: Sequence[T_contra], /) -> None: ...
    def prepare(self, checkpoint: int, /) -> bytes: ...
    def commit(self, handle: bytes, /) -> None: ...
    def close(self) -> None: ...


class RecordSink(Protocol[T_contra]):
    """Where records go."""

    def open(self, owner: str, /) -> RecordWriter[T_contra]: ...
