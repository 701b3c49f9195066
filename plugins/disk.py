"""Files that are there completely or not at all, for plugins that keep things in folders."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from heronpy.kernel.errors import UserError
from heronpy.kernel.machine.durable import StrPath, make_durable, sync
from heronpy.kernel.machine.private import (
    NotPrivate,
    keep_others_out,
    require_ours,
    require_sticky,
    require_unplanted,
)

#: nothing that is kept can have this name, since it begins with a dot
UNFINISHED = ".unfinished"

#: seconds after which a file without a lock holder counts as left by a dead writer
STALE = 60.0

#: a folder can be cleared away as empty just before a file is moved there
ATTEMPTS = 100

_ADVICE = {
    errno.ENOSPC: ("the disk is full", "free some space there"),
    errno.EDQUOT: ("your disk quota is used up", "free some space there"),
    errno.EACCES: ("permission denied", "make the folder writable for you"),
    errno.EPERM: ("permission denied", "make the folder writable for you"),
    errno.EROFS: ("the disk is read-only", "mount it writable"),
    errno.ENOTDIR: ("a file is where a folder should be", "move it away"),
    errno.EISDIR: ("a folder is where an object should be", "move it away"),
}


@contextlib.contextmanager
def disk_errors(what: str, error: type[UserError], otherwise: str) -> Iterator[None]:
    """Turn an OSError into one line: that `what` cannot be used, why, and what to do, or `otherwise`."""
    try:
        yield
    except NotPrivate as raised:
        msg = f"cannot use {what}: {raised}"
        raise error(msg, hint=f"remove it, make it private, or {otherwise}") from raised
    except OSError as raised:
        why, hint = _ADVICE.get(raised.errno or 0, (raised.strerror or str(raised), "check that disk"))
        msg = f"cannot use {what}: {why}"
        raise error(msg, hint=f"{hint}, or {otherwise}") from raised


@contextlib.contextmanager
def replacing(path: StrPath, aside: Path, mode: int = 0o600) -> Iterator[BinaryIO]:
    """A file to write into, in the folder `aside`. It takes its place at the path when the block ends well.

    The writer holds a lock on it, so that `clear_unfinished` recognises the files of a dead one.
    """
    target = os.fspath(path)
    make_durable(aside)
    if str(aside) != os.path.dirname(target):
        require_ours(aside)
    unfinished = os.path.join(aside, secrets.token_hex(12))
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with open(descriptor, "wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file
            file.flush()
            os.fsync(file.fileno())
            _move(unfinished, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(unfinished)
        raise


def require_unshared(folder: Path, *, chosen: bool) -> None:
    """NotPrivate for a folder, if it is there, where every account could exchange what is kept.

    One that was not chosen is in home, where others have no rights.
    """
    if not chosen:
        keep_others_out(folder)
        return
    require_unplanted(folder)
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        require_sticky(folder, others=0o002)


def clear_unfinished(folder: Path) -> None:
    """Remove what dead writers left there."""
    with contextlib.suppress(FileNotFoundError):
        for path in list(folder.iterdir()):
            with contextlib.suppress(FileNotFoundError):
                if time.time() - path.stat().st_mtime > STALE and _abandoned(path):
                    path.unlink()


def _abandoned(path: Path) -> bool:
    """Whether no writer holds it; the lock ends with its process."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def _move(source: str, target: str) -> None:
    folder = os.path.dirname(target)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            make_durable(folder)
            os.replace(source, target)
        except FileNotFoundError:
            if attempt == ATTEMPTS or not os.path.exists(source):
                raise
        else:
            break
    sync(folder)
