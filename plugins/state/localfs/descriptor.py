"""File descriptors that a forked child does not keep open."""

from __future__ import annotations

import contextlib
import os
import weakref

from heronpy.kernel.errors import StateError

_OPEN: weakref.WeakSet[Descriptor] = weakref.WeakSet()


class Descriptor:
    """Owns one descriptor and closes it in forked children.

    flock belongs to the open file, which fork shares: a child that kept the descriptor would keep the lock
    of a parent that has died. O_CLOEXEC covers children that exec; this covers those that do not.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        _OPEN.add(self)

    def fileno(self) -> int:
        """The descriptor, or a StateError once it is closed."""
        if self._fd < 0:
            msg = "this state manager is closed, or was opened by the parent process before a fork"
            raise StateError(msg, hint="initialize a new one")
        return self._fd

    @property
    def closed(self) -> bool:
        return self._fd < 0

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            with contextlib.suppress(OSError):
                os.close(fd)


def _close_in_child() -> None:
    for descriptor in list(_OPEN):
        descriptor.close()


os.register_at_fork(after_in_child=_close_in_child)
