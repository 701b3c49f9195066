"""What a loop and its tasks say to each other."""

from __future__ import annotations

import enum
from typing import Protocol


class Turn(enum.Enum):
    """What a task says at the end of a turn: when to call it again."""

    #: nothing to do now: when a frame has come, or its patience is over
    DONE = enum.auto()
    #: there is more to do: at once
    MORE = enum.auto()
    #: rows wait for credit: when a frame has come, or its patience is over
    BLOCKED = enum.auto()


class Runnable(Protocol):
    """What a loop calls: a task, or a task with what its process does for it between two turns."""

    def turn(self) -> Turn:
        """Work for about a millisecond; no sleep but inside emit(), and there only if the loop allows it."""

    def patience(self) -> float:
        """Seconds until the next turn, if no frame comes before. Asked after a turn DONE or BLOCKED."""
