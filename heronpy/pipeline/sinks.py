"""The sinks that pipelines write."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from heronpy.pipeline.ends import RecordSink

T = TypeVar("T")


def printed() -> RecordSink[object]:
    """Each value on standard output, as `str(value)`, one a line."""
    return _Printed()


def collected() -> Collected[Any]:
    """A list of all values, for tests and notebooks: `.records`."""
    return Collected()


class Collected(Generic[T]):
    """What a pipeline wrote."""

    name = "collected"

    def __init__(self) -> None:
        self.records: list[T] = []

    def open(self, owner: str) -> _Collector[T]:  # noqa: ARG002 - one list for all
        return _Collector(self.records)


class _Collector(Generic[T]):
    def __init__(self, records: list[T]) -> None:
        self._records = records

    def write(self, records: Sequence[T]) -> None:
        self._records += records

    def prepare(self, checkpoint: int) -> bytes:  # noqa: ARG002 - has no transactions
        return b""

    def commit(self, handle: bytes) -> None:
        pass

    def close(self) -> None:
        pass


class _Printed:
    name = "printed"

    def open(self, owner: str) -> _Printer:  # noqa: ARG002 - there is one standard output
        return _Printer()


class _Printer:
    def write(self, records: Sequence[object]) -> None:
        sys.stdout.write("".join(f"{record}\n" for record in records))

    def prepare(self, checkpoint: int) -> bytes:  # noqa: ARG002 - has no transactions
        sys.stdout.flush()
        return b""

    def commit(self, handle: bytes) -> None:
        pass

    def close(self) -> None:
        pass
