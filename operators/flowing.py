"""Records on their way out of a step, in lists that do not grow without end."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

#: takes records; must not change the list
Out: TypeAlias = Callable[[Sequence[Any]], None]

#: how many records a step hands on at once, when one record becomes many
MOST = 4096
#: how many keys have their turn before a step that has more to do may be interrupted: about a millisecond
KEYS_AT_ONCE = 100


def at_once(steps: Iterable[None]) -> None:
    """Do all of what may be interrupted."""
    for _ in steps:
        pass


class Flowing:
    """Collects what a function makes and hands it on: one record may become more than fits into memory."""

    __slots__ = ("_made", "_out")

    def __init__(self, out: Out) -> None:
        self._out = out
        self._made: list[Any] = []

    def add(self, results: Iterable[Any] | None) -> None:
        if type(results) is list:
            self._made += results
        elif results is None:
            msg = "the function returned None: return a list, or yield each result"
            raise TypeError(msg)
        else:
            rest = iter(results)
            while True:
                self._made.extend(itertools.islice(rest, MOST - len(self._made)))
                if len(self._made) < MOST:
                    return
                self.flush()
        if len(self._made) >= MOST:
            self.flush()

    def flush(self) -> None:
        if self._made:
            made, self._made = self._made, []
            self._out(made)


def to_all(outs: Sequence[Out]) -> Out:
    """One that hands the same records to each."""
    if len(outs) == 1:
        return outs[0]

    def run(records: Sequence[Any]) -> None:
        for out in outs:
            out(records)

    return run
