"""Objects in the checkpoint store, as they are named to others."""

from __future__ import annotations

import msgspec


class StoredPart(msgspec.Struct, frozen=True):
    """An object of one task, and which groups in it are current: others may be in a later object."""

    object: str
    #: xxh3-128 of its bytes, in hex
    checksum: str
    bytes: int
    #: key groups, or splits of a spout, whose newest state is in it
    groups: tuple[int, ...] = ()
    #: whether it has what belongs to the task and to no group
    whole: bool = False
    #: whether that is user state, which only a task of the same component and index can load
    opaque: bool = False
    #: how many entries that state has
    entries: int = 0


class CheckpointRef(msgspec.Struct, frozen=True):
    """A complete checkpoint: where its manifest is, and what it must be."""

    id: int
    #: name of the manifest in the checkpoint store
    manifest: str
    checksum: str
    #: of all that it names
    bytes: int = 0
    #: wall-clock second when it was complete, and how long it took
    at: float = 0.0
    seconds: float = 0.0
    #: of the plan by which it was taken
    epoch: int = 0
    #: transactions with the outside that were committed when it was complete
    transactions: int = 0
