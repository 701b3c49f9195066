"""How far a task has come with checkpoints and changes of plan."""

from __future__ import annotations

from heronpy.kernel.protocol import InstanceBeat, Stored, Totals
from heronpy.kernel.protocol.ending import Ending


class Progress:
    """Written by the task's thread, one attribute at a time; put into every beat by the control thread."""

    def __init__(self) -> None:
        self.run = 0
        #: the last run in which tuples on their way to this task were lost
        self.broken_run = 0
        self.snapshot: Stored | None = None
        self.next_epoch = 0
        self.handover: Stored | None = None
        self.loaded_epoch = 0
        #: of the plan that the task works by
        self.current_epoch = 0
        self.held_seconds = 0.0
        #: how far the task is with its end, and what it has counted by then
        self.ending = Ending.NOT_YET
        self.totals = Totals()

    def put_into(self, beat: InstanceBeat) -> None:
        beat.run, beat.broken_run = self.run, self.broken_run
        beat.next_epoch, beat.loaded_epoch = self.next_epoch, self.loaded_epoch
        beat.current_epoch, beat.held_seconds = self.current_epoch, self.held_seconds
        beat.ending = self.ending
        if self.ending:
            beat.totals.CopyFrom(self.totals)
        else:
            beat.ClearField("totals")
        for name, stored in (("snapshot", self.snapshot), ("handover", self.handover)):
            if stored is None:
                beat.ClearField(name)
            else:
                getattr(beat, name).CopyFrom(stored)
