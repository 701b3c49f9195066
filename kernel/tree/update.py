"""A change of plan while the topology runs: the node `update` of the state tree."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from heronpy.kernel.checkpoints.stored import StoredPart
from heronpy.kernel.formats import NODE
from heronpy.kernel.plans import PackingPlan, union

#: proposed → prepare → cut → load → release → done; before release also → rollback → rolled_back
Phase = Literal["proposed", "prepare", "cut", "load", "release", "rollback", "done", "rolled_back"]

#: the update is over
CLOSED: Final = frozenset({"done", "rolled_back"})

#: both plans have their processes: the new ones are needed, the old ones are not over yet
BOTH_RUN: Final = frozenset({"prepare", "cut", "load", "release"})


class Handover(msgspec.Struct, frozen=True):
    """The state that one task gives away, in the checkpoint store."""

    task: int
    parts: tuple[StoredPart, ...]
    #: of the process that gave it; at a planned restart a later one of the same task loads it
    incarnation: int = 0


class Ledger(msgspec.Struct, frozen=True):
    """What an update has moved, and what it has cost; shown to the user who asked for it."""

    lost: int = 0
    pause_seconds: float = 0.0
    groups_moved: int = 0
    groups: int = 0
    bytes_moved: int = 0
    #: phase → seconds
    phases: dict[str, float] = {}
    #: state that was dropped with the user's consent, a sentence each
    given_up: tuple[str, ...] = ()


class Update(msgspec.Struct, frozen=True, kw_only=True):
    """Written by the command (proposed), then by the Topology Master alone, always by compare-and-set.

    It stays in the tree when it is over, so that the next one counts on from it.
    """

    #: raised with every write
    number: int
    #: incarnation of the Topology Master that wrote it, 0 for the command; fences earlier masters
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
    #: the packing after the update
    packing: PackingPlan
    #: whether it goes ahead although some state of tasks cannot move
    accepts_loss: bool = False
    #: seconds that a phase may take; 0 is the topology's own `update.timeout`
    timeout: float = 0.0
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
        return NODE.encode(self)

    @classmethod
    def from_json(cls, data: bytes) -> Update:
        return NODE.decode(data, cls, "an update")


class UpdateFailure(msgspec.Struct, frozen=True):
    """Why the scheduler could not start what an update needs: the node `update_failure`.

    It counts for the update with this epoch only, so it need not be removed.
    """

    epoch: int
    reason: str


def packing_to_run(packing: PackingPlan, update: Update | None) -> PackingPlan:
    """The instances to run now: those of the packing plan and, during an update, those of the next one.

    Retiring instances stay until the packing plan itself is the new one.
    """
    if update is None or update.phase not in BOTH_RUN:
        return packing
    return union(packing, update.packing)
