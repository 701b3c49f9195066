"""Places in a file: opened at a position in bytes, and named by line in an error."""

from __future__ import annotations

from typing import IO

from heronpy.kernel.errors import UserError

#: files of a bounded source that one reader has open at the same time
OPEN_FILES = 64
_BLOCK = 1 << 20


def open_at(path: str, position: int) -> IO[bytes]:
    """The file from this position on; UserError if it is gone or has become shorter."""
    try:
        file = open(path, "rb")  # noqa: SIM115 - the caller closes it
    except OSError as error:
        msg = f"{path} cannot be read: {error.strerror}"
        raise UserError(msg, hint="splits are the files that were there at submit; put it back") from error
    if file.seek(0, 2) < position:
        file.close()
        msg = f"{path} has become shorter than the {position:,} bytes that were read of it"
        raise UserError(msg, hint="files that are read must only grow; begin anew without the checkpoint")
    file.seek(position)
    return file


def at_line(path: str, position: int) -> str:
    """ "file, line n": counted only when it is needed, for an error."""
    line = 1
    with open(path, "rb") as file:
        while position > 0 and (block := file.read(min(position, _BLOCK))):
            line += block.count(b"\n")
            position -= len(block)
    return f"{path}, line {line}"
