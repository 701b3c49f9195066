"""What must outlive a power cut: synced, each file and each name of it in its folder."""

from __future__ import annotations

import contextlib
import errno
import os

#: Paths here are strings: pathlib interns each part, and a process that does so with new names in every
#: checkpoint gets a table of its own for all strings that are interned, of some 800 KB.
StrPath = str | os.PathLike[str]

#: folders that this process knows to be durable; checkpoints come and go, so not for ever
_known: set[str] = set()
_MOST = 1000


def sync(path: StrPath) -> None:
    """Make a file, or the names in a folder, durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_durable(folder: StrPath, mode: int = 0o700) -> None:
    """Make it and those above it that are missing. What is synced in a folder is lost if the folder is.

    One that is there may be of a process that died before it had synced the folder above. Each process does
    that once, for every folder that it puts something into: so those further up are durable as well.
    """
    path = os.fspath(folder)
    above = os.path.dirname(path) or os.curdir
    if path in _known and os.path.isdir(path):
        return
    if not os.path.isdir(path):
        make_durable(above, mode)
        try:
            os.mkdir(path, mode)
        except FileExistsError:
            if not os.path.isdir(path):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path) from None
    with contextlib.suppress(PermissionError):  # what may not be read is none that the engine has made
        sync(above)
    if len(_known) >= _MOST:
        _known.clear()
    _known.add(path)
