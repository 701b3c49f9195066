"""Every call that changes the disk: the process may die there, or the disk refuse it, or take long."""

from __future__ import annotations

import errno
import os
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from support.tasks.puppets import Died

_CHANGES = frozenset({"os.rename", "os.remove", "os.mkdir", "os.rmdir", "heronpy.step"})
_WRITING = os.O_WRONLY | os.O_RDWR
_fsync = os.fsync


class DiskCalls:
    """Counts them while somebody works, and carries out what is due at one of them."""

    _working: DiskCalls | None = None
    _hooked = False

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self.made = 0
        #: the number of the call at which everything ends; 0 for none
        self.die_at = 0
        #: until this call there is no room; or at its edge, only sometimes
        self.full_until, self.edge = 0, False
        #: seconds that a call takes, and all of them so far
        self.cost, self.spent = 0.0, 0.0
        self.refused = 0
        if not DiskCalls._hooked:
            # a hook stays for as long as the process
            sys.addaudithook(_on_event)
            os.fsync = _counted_fsync
            DiskCalls._hooked = True

    @contextmanager
    def working(self) -> Iterator[None]:
        """Calls in here are the engine's."""
        DiskCalls._working = self
        try:
            yield
        finally:
            DiskCalls._working = None

    def on_call(self, *, takes_room: bool) -> None:
        self.made += 1
        self.spent += self.cost
        if self.die_at and self.made >= self.die_at:
            raise Died  # … and so does all that the dead still try
        full = takes_room and self.made < self.full_until
        if full and not (self.edge and self._dice.random() < 0.7):
            self.refused += 1
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _on_event(event: str, arguments: tuple[Any, ...]) -> None:
    working = DiskCalls._working
    if working is None:
        return
    if event == "open":
        flags = arguments[2]
        if isinstance(flags, int) and flags & _WRITING:
            working.on_call(takes_room=bool(flags & os.O_CREAT))
    elif event in _CHANGES:
        working.on_call(takes_room=event == "os.mkdir")


def _counted_fsync(fd: Any) -> None:
    if DiskCalls._working is not None:
        DiskCalls._working.on_call(takes_room=False)
    _fsync(fd)
