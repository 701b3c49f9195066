"""How far a task is with ending: the values of InstanceBeat.ending."""

from __future__ import annotations

import enum


class Ending(enum.IntEnum):
    """Levels; a task that is replaced begins again with the first."""

    NOT_YET = 0
    #: all input has been processed, and all that was emitted has been consumed
    PROCESSED = 1
    #: … and nothing waits for a checkpoint
    COMMITTED = 2
