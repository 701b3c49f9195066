"""The node `checkpoints` of the state tree: which run is on, what is being saved and what has been."""

from __future__ import annotations

import msgspec

from heronpy.kernel.checkpoints.stored import CheckpointRef
from heronpy.kernel.formats import NODE


class WentBack(msgspec.Struct, frozen=True):
    """A run that did not begin with the newest complete checkpoint, or not by what the node said."""

    #: the checkpoint that it began with, 0 for none; and the run
    checkpoint: int
    run: int
    #: wall-clock second
    at: float
    because: str


class Checkpoints(msgspec.Struct, frozen=True, kw_only=True):
    """Written by the Topology Master alone, always by compare-and-set, and told to every instance."""

    #: raised with every write
    number: int = 1
    #: incarnation of the Topology Master that wrote it; an earlier one does not write any more
    master: int = 0
    #: effectively once, raised by every restore; 0 until everybody is there for the first time, else always
    run: int = 0
    #: what this run began with, or the topology if it was submitted from a checkpoint
    base: CheckpointRef | None = None
    #: why the run began, and at which wall-clock second
    because: str = ""
    begun_at: float = 0.0
    #: of the plan that was in force when the run began: who takes part has heard of that plan
    epoch: int = 0
    #: effectively once, the incarnation of each task that takes part in the run
    members: dict[int, int] = {}
    #: … and of each container's Stream Manager
    managers: dict[int, int] = {}
    #: newest checkpoint that was begun; nobody need take part in an earlier one
    started: int = 0
    #: newest that was given up, and why
    aborted: int = 0
    aborted_because: str = ""
    #: those that are kept, newest last
    complete: tuple[CheckpointRef, ...] = ()
    #: the last few times that the topology went back further than it should have to, newest last
    went_back: tuple[WentBack, ...] = ()

    @classmethod
    def submitted_with(cls, ref: CheckpointRef | None) -> Checkpoints:
        """Of a topology that begins with a checkpoint of another one; its number is taken, too."""
        return cls(base=ref, complete=(ref,), started=ref.id) if ref is not None else cls()

    def to_json(self) -> bytes:
        return NODE.encode(self)

    @classmethod
    def from_json(cls, data: bytes) -> Checkpoints:
        return NODE.decode(data, cls, "the checkpoints of a topology")
