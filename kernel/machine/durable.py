"""Files that must outlive a power cut: both the file and its name in the folder are synced."""

from __future__ import annotations

import contextlib
import errno
import os
import stat

#: Paths here are strings: pathlib interns each part, and a process that does so with new names in every
#: checkpoint gets a table of its own for all strings that are interned, of some 800 KB.
StrPath = str | os.PathLike[str]

#: folders known to be durable; cleared when full, since checkpoints bring new ones all the time
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
    """Make a folder and its missing parents durable: a synced file is lost if its folder is not synced.

    An existing folder may have been made by a process that died before it synced the parent. So each process
    syncs the parent of every folder that it writes into once, and thereby all folders above.
    FileNotFoundError if another process removes one of them meanwhile: the caller may try again.
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
            # a FileNotFoundError here: another process made the folder, and has removed it since
            if not stat.S_ISDIR(os.lstat(path).st_mode) and not os.path.isdir(path):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path) from None
    with contextlib.suppress(PermissionError):  # a folder that cannot be read was not made by the engine
        sync(above)
    if len(_known) >= _MOST:
        _known.clear()
    _known.add(path)
