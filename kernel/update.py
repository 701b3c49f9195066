"""A change of plan while the topology runs: the node `update` of the state tree."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from heronpy.kernel.checkpoints.stored import StoredPart
from heronpy.kernel.plans import PackingPlan

#: proposed → prepare → cut → load → release → done; before release also → rollback → rolled_back
Phase = Literal["proposed", "prepare", "cut", "load", "release", "rollback", "done", "rolled_back"]

FINISHED: Final = frozenset({"done", "rolled_back"})


class Handover(msgspec.Struct, frozen=True):
    """The state that one task gives away, in the checkpoint store."""

    task: int
    parts: tuple[StoredPart, ...]
    #: of the process that gave it: a task that restarts is loaded by a later one
    incarnation: int = 0


class Ledger(msgspec.Struct, frozen=True):
    """What an update has cost and brought, for whoever asked for it."""

    lost: int = 0
    pause_seconds: float = 0.0
    groups_moved: int = 0
    groups: int = 0
    bytes_moved: int = 0
    #: phase → seconds
    phases: dict[str, float] = {}


class Update(msgspec.Struct, frozen=True, kw_only=True):
    """Written by whoever asks (proposed), then by the Topology Master alone, always by compare-and-set.

    It stays in the tree when it is over, so that the next one counts on from it.
    """

    #: raised with every write
    number: int
    #: incarnation of the Topology Master that wrote it, 0 for whoever asked; an earlier one stays out
    master: int = 0
    #: of the plan that it leads to; never used again, whatever comes of it
    epoch: int
    phase: Phase
    #: restart hands the tasks of some containers over to their own successors
    kind: Literal["scale", "restart"] = "scale"
    #: component → instances, as asked for
    wanted: dict[str, int] = {}
    #: containers to restart
    containers: tuple[int, ...] = ()
    #: who goes where afterwards
    packing: PackingPlan
    requested_by: str = ""
    requested_at: float = 0.0
    #: components whose input has been cut so far, upstream ones first
    cut: tuple[str, ...] = ()
    handovers: tuple[Handover, ...] = ()
    #: incarnations that took over, from "release" on
    members: dict[int, int] = {}
    #: why it was rolled back
    reason: str = ""
    #: as far as it is known; complete when it is over
    ledger: Ledger | None = None

    def to_json(self) -> bytes:
        return msgspec.json.encode(self)

    @classmethod
    def from_json(cls, data: bytes) -> Update:
        return msgspec.json.decode(data, type=cls)
