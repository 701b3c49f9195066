"""A sink that prints each value on standard output, one a line."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO

from heronpy.connectors.sink import Sink, Writer


@dataclass(frozen=True)
class PrintedSink(Sink[object]):
    """Prints `str(value)`. The runner of the pipeline decides where and when: see the docs of each."""

    name = "printed"

    def open(self, owner: str) -> Writer[object]:  # noqa: ARG002 - standard output has one
        return _Printer()


class _Printer(Writer[object]):
    def write(self, records: Sequence[object]) -> None:
        (_values or sys.stdout).write("".join([f"{record}\n" for record in records]))

    def flush(self) -> None:
        (_values or sys.stdout).flush()


#: where values go in a process whose `sys.stdout` is for what the user's code prints
_values: TextIO | None = None


def print_values_to(stream: TextIO) -> None:
    """Keep values apart from what else this process prints on `sys.stdout`."""
    global _values
    _values = stream
