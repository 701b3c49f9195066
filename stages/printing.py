"""What `sinks.printed()` prints on the engine: blocks of lines with names, so that none is shown twice.

A transaction is printed when its checkpoint is complete, and perhaps again after a crash, because it is not
known then whether that had happened. `heronpy run` leaves out blocks that it has shown.
"""

from __future__ import annotations

import re
import secrets
import sys
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from heronpy.connectors import Writer
from heronpy.kernel.formats import HANDLE

#: the line before a block: how many lines follow, and its name
BLOCK: Final = re.compile(r"\[printed (?P<lines>\d+) lines?: (?P<name>[0-9a-f]+\.\d+)\]")
#: characters of a block: one write of the log, so that no other line comes between
MOST: Final = 16_000


class _Printed(msgspec.Struct):
    name: str
    lines: list[str]


class BlockPrinter(Writer[object]):
    """Keeps lines until they are committed, then prints them."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def write(self, records: Sequence[object]) -> None:
        for record in records:
            self._lines += str(record).split("\n")

    def prepare(self, checkpoint: int) -> bytes:  # noqa: ARG002 - a name that is never used again is enough
        if not self._lines:
            return b""
        lines, self._lines = self._lines, []
        return HANDLE.encode(_Printed(secrets.token_hex(8), lines))

    def commit(self, handle: bytes) -> None:
        printed = HANDLE.decode(handle, _Printed, "what a pipeline prints")
        raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
        sys.stdout.flush()
        for block in blocks(printed.name, printed.lines):
            if raw is None:
                sys.stdout.write(block)
            else:
                raw.write(block.encode(errors="backslashreplace"))

    def abort(self) -> None:
        self._lines = []


def blocks(name: str, lines: Sequence[str]) -> Iterator[str]:
    """The lines in blocks that are written at once."""
    open_lines: list[str] = []
    size = number = 0
    for line in lines:
        if open_lines and size + len(line) > MOST:
            number += 1
            yield _block(f"{name}.{number}", open_lines)
            open_lines, size = [], 0
        open_lines.append(line)
        size += len(line) + 1
    if open_lines:
        yield _block(f"{name}.{number + 1}", open_lines)


def _block(name: str, lines: Sequence[str]) -> str:
    return "\n".join([f"[printed {len(lines)} line{'s' if len(lines) > 1 else ''}: {name}]", *lines, ""])
