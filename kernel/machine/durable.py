"""What must outlive a power cut: synced, each file and each name of it in its folder."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

#: folders that this process knows to be durable; checkpoints come and go, each with one: so not for ever, and
#: as strings, which take a quarter of what paths do
_known: set[str] = set()
_MOST = 1000


def sync(path: Path) -> None:
    """Make a file, or the names in a folder, durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_durable(folder: Path, mode: int = 0o700) -> None:
    """Make it and those above it that are missing. What is synced in a folder is lost if the folder is.

    One that is there may be of a process that died before it had synced the folder above. Each process does
    that once, for every folder that it puts something into: so those further up are durable as well.
    """
    if str(folder) in _known and folder.is_dir():
        return
    if not folder.is_dir():
        make_durable(folder.parent, mode)
        try:
            folder.mkdir(mode=mode)
        except FileExistsError:
            if not folder.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder)) from None
    with contextlib.suppress(PermissionError):  # what may not be read is none that the engine has made
        sync(folder.parent)
    if len(_known) >= _MOST:
        _known.clear()
    _known.add(str(folder))
