"""A sink that prints each value on standard output, one a line."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from heronpy.connectors.sink import Sink, Writer


@dataclass(frozen=True)
class PrintedSink(Sink[object]):
    """Prints `str(value)`. After a crash, values may be printed again."""

    name = "printed"

    def open(self, owner: str) -> Writer[object]:  # noqa: ARG002 - standard output has one
        return _Printer()


class _Printer(Writer[object]):
    def write(self, records: Sequence[object]) -> None:
        sys.stdout.write("".join([f"{record}\n" for record in records]))

    def flush(self) -> None:
        sys.stdout.flush()
