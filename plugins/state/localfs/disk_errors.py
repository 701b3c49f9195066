"""Errors of the operating system, in one line with what to do."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator
from pathlib import Path

from heronpy.kernel.errors import StateError

_ELSEWHERE = "set `home` to another folder"

_ADVICE = {
    errno.ENOSPC: ("the disk is full", f"free some space there, or {_ELSEWHERE}"),
    errno.EDQUOT: ("your disk quota is used up", f"free some space there, or {_ELSEWHERE}"),
    errno.EFBIG: ("the file size limit of this process is reached", "`ulimit -f unlimited`"),
    errno.EACCES: ("permission denied", f"make the folder writable for you, or {_ELSEWHERE}"),
    errno.EPERM: ("permission denied", f"make the folder writable for you, or {_ELSEWHERE}"),
    errno.EROFS: ("the disk is read-only", f"mount it writable, or {_ELSEWHERE}"),
    errno.EMFILE: ("too many open files in this process", "`ulimit -n 4096`"),
    errno.ENOENT: ("it was removed while in use", "kill the topologies that still run, then submit again"),
}


@contextlib.contextmanager
def disk_errors(root: Path) -> Iterator[None]:
    """Turn an OSError into a StateError that names the state folder."""
    try:
        yield
    except OSError as error:
        what, hint = _ADVICE.get(
            error.errno or 0, (error.strerror or str(error), f"check that disk, or {_ELSEWHERE}")
        )
        msg = f"cannot use the state folder {root}: {what}"
        raise StateError(msg, hint=hint) from error
