"""Lets code die in front of any of the things that it does to files."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

#: what the interpreter announces before it does it
_EVENTS = {"open", "os.mkdir", "os.remove", "os.rename", "sqlite3.connect"}


class Crash(BaseException):
    """Nothing after this happens."""


class _Bomb:
    def __init__(self) -> None:
        self.installed = False
        #: events until it goes off; 0 for never
        self.left = 0

    def hear(self, event: str, _arguments: tuple[Any, ...]) -> None:
        if self.left and event in _EVENTS:
            self.left -= 1
            if not self.left:
                raise Crash


_bomb = _Bomb()


@contextlib.contextmanager
def crashing(at: int) -> Iterator[None]:
    """Inside, the thing number `at` is not done any more, nor anything after it."""
    if not _bomb.installed:
        sys.addaudithook(_bomb.hear)  # there is no way to remove one
        _bomb.installed = True
    _bomb.left = at
    try:
        yield
    finally:
        _bomb.left = 0
