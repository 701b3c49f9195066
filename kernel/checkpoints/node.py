"""The node `checkpoints` of the state tree: which run is on, what is being saved and what has been."""

from __future__ import annotations

import msgspec

from heronpy.kernel.checkpoints.stored import CheckpointRef
from heronpy.kernel.formats import NODE


class WentBack(msgspec.Struct, frozen=True):
    """A run that did not begin with the newest complete checkpoint, or after the node was rebuilt."""

    #: the checkpoint that it began with, 0 for none; and the run
    checkpoint: int
    run: int
    #: wall-clock second
    at: float
    because: str


class Checkpoints(msgspec.Struct, frozen=True, kw_only=True):
    """Written by the Topology Master alone, always by compare-and-set, and sent to every instance."""

    #: raised with every write
    number: int = 1
    #: incarnation of the Topology Master that wrote it; an earlier one does not write any more
    master: int = 0
    #: raised by every restore at effectively once; 0 until all tasks have started, and at other guarantees
    run: int = 0
    #: what this run began with, or the topology if it was submitted from a checkpoint
    base: CheckpointRef | None = None
    #: why the run began, and at which wall-clock second
    because: str = ""
    begun_at: float = 0.0
    #: of the plan that was in force when the run began: all members of the run know that plan
    epoch: int = 0
    #: effectively once, the incarnation of each task that takes part in the run
    members: dict[int, int] = {}
    #: … and of each container's Stream Manager
    managers: dict[int, int] = {}
    #: newest checkpoint that was begun; tasks ignore earlier ones
    started: int = 0
    #: newest that was given up, and why
    aborted: int = 0
    aborted_because: str = ""
    #: the checkpoints that are kept, newest last
    complete: tuple[CheckpointRef, ...] = ()
    #: the last few restores that did not begin with the newest complete checkpoint, newest last
    went_back: tuple[WentBack, ...] = ()

    @classmethod
    def submitted_with(cls, ref: CheckpointRef | None) -> Checkpoints:
        """Of a topology that starts from a checkpoint of another one; numbering goes on from that one."""
        return cls(base=ref, complete=(ref,), started=ref.id) if ref is not None else cls()

    def to_json(self) -> bytes:
        return NODE.encode(self)

    @classmethod
    def from_json(cls, data: bytes) -> Checkpoints:
        return NODE.decode(data, cls, "the checkpoints of a topology")
