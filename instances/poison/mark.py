"""What a task is processing, in a mapped file: its successor reads it, however the process ended."""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from typing import Final

from heronpy.kernel.machine.private import private

#: between two chunks; in a chunk of tuples; with the tuple whose digest follows
IDLE: Final = 0
BUSY: Final = 1
NAMED: Final = 2

DIGEST_BYTES: Final = 16
_SIZE = 1 + DIGEST_BYTES

#: the first byte is one of the above, the digest is behind it
Cells = mmap.mmap | bytearray


def unseen() -> Cells:
    """Cells of a task without poison detection, as in a test."""
    return bytearray(_SIZE)


def mapped(path: Path) -> tuple[Cells, bytes]:
    """The cells of this process, and what its predecessor left in them."""
    with open(path, "ab", opener=private) as file:
        # written, not only made longer: a hole that finds no room later would be a SIGBUS
        file.write(bytes(_SIZE - min(_SIZE, os.fstat(file.fileno()).st_size)))
    with path.open("r+b") as file:
        cells = mmap.mmap(file.fileno(), _SIZE)
    left = bytes(cells)
    cells[0] = IDLE
    return cells, left


def died_in(left: bytes) -> bytes | None:
    """The digest of the tuple that a predecessor died on: empty if it is not known, None if it did not."""
    if left[0] == IDLE:
        return None
    return left[1:] if left[0] == NAMED else b""
