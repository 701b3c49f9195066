"""Room that is kept for values when the disk is full: heartbeats must not stop then."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os

#: the file; under the tree's lock it belongs to the process that holds it
SPARE = "@spare"

#: bytes of its one block: a record that is longer finds no room in it
SIZE = 4096

_RENAME_EXCHANGE = 2
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_libc = ctypes.CDLL(None, use_errno=True)


def keep_spare(root: int) -> None:
    """Make it if it is not there and there is room. Wants the tree's lock."""
    with contextlib.suppress(OSError):
        fd = os.open(SPARE, _FLAGS, 0o600, dir_fd=root)
        try:
            if os.fstat(fd).st_blocks == 0:
                os.pwrite(fd, bytes(SIZE), 0)
        finally:
            os.close(fd)


def put_into_spare(error: OSError, root: int, folder: int, name: str, data: bytes, durable: bool) -> None:
    """Replace an existing file in one step without any new room, or raise the error of the first attempt.

    The block that is written to is the spare one, and the block of the file that is replaced the next spare.
    """
    if error.errno not in _NO_ROOM or len(data) > SIZE:
        raise error
    try:
        fd = os.open(SPARE, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=root)
    except FileNotFoundError:
        raise error from None
    try:
        if os.fstat(fd).st_blocks == 0 or os.pwrite(fd, data, 0) != len(data):
            raise error
        os.ftruncate(fd, len(data))
        if durable:
            os.fsync(fd)
    finally:
        os.close(fd)
    exchanged = _libc.renameat2(root, SPARE.encode(), folder, name.encode(), ctypes.c_uint(_RENAME_EXCHANGE))
    if exchanged != 0:
        raise error
