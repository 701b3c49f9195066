"""Rebuilds a predecessor's damaged nodes from the other nodes. Decides; does no I/O."""

from __future__ import annotations

from typing import Final

import msgspec

from heronpy.kernel.checkpoints.in_store import InStore
from heronpy.kernel.checkpoints.node import Checkpoints
from heronpy.kernel.errors import DamagedNode
from heronpy.kernel.master.knowledge.roster import Roster
from heronpy.kernel.plans import LogicalPlan, PackingPlan, PhysicalPlan, physical_plan
from heronpy.kernel.tree.update import Update

REBUILT: Final = "the node checkpoints was damaged and was rebuilt from the checkpoint store"

#: how many checkpoints may have been begun and aborted without a trace in the store: tasks that keep running
#: ignore a number that they have already taken part in
SKIPPED: Final = 64

#: of the plan that a topology is submitted with
FIRST_EPOCH: Final = 1


def plan_in_force(
    damage: DamagedNode,
    definition: LogicalPlan,
    packing: PackingPlan,
    update: Update | None,
    coming: PhysicalPlan | None,
) -> PhysicalPlan:
    """The plan of the damaged node; raises the damage if it is ambiguous which one is in force.

    The packing is written after its plan is in force, and an update is in "release" once its plan is.
    """
    if coming is not None:
        released = update is not None and update.phase == "release" and update.epoch == coming.epoch
        if released or coming.epoch == packing.epoch:
            return coming
    undone = update is None or update.phase in ("proposed", "rollback", "rolled_back")
    if undone and packing.epoch == FIRST_EPOCH:
        return physical_plan(definition, packing)
    raise damage


def update_that_ran(
    damage: DamagedNode, plan: PhysicalPlan, coming: PhysicalPlan | None, packing: PackingPlan, *, number: int
) -> Update:
    """An update in place of the damaged one; raises the damage if that may be half in force.

    A proposal that had not begun is lost and has to be made again. `number` is higher than any before.
    """
    if packing.epoch != plan.epoch:
        raise damage
    if coming is None or coming.epoch <= plan.epoch:
        return Update(number=number, epoch=plan.epoch, phase="done", packing=packing)
    # task ids are never reused, so those of the plan that is rolled back are skipped
    used = msgspec.structs.replace(packing, next_task=max(task.id for task in coming.tasks) + 1)
    reason = f"the node {damage.path} was damaged"
    return Update(number=number, epoch=coming.epoch, phase="rollback", packing=used, reason=reason)


def checkpoints_as_stored(
    stored: InStore, plan: PhysicalPlan, roster: Roster, *, number: int, retain: int
) -> Checkpoints:
    """The node as rebuilt from the store and the beats; all tasks must have sent one.

    It has no members: at effectively once the next run begins, with the newest of these checkpoints.
    """
    beats = [roster.beat(task) for task in plan.tasks]
    refs = stored.refs[-retain:]
    skipped = 0 if plan.logical.reliability == "effectively_once" else SKIPPED
    started = max([0, *(ref.id for ref in refs), *(beat.snapshot.id for beat in beats)]) + skipped
    return Checkpoints(
        number=max(number, *(roster.process(task).checkpoints + 1 for task in plan.tasks)),
        run=max([stored.run, *(beat.run for beat in beats)]),
        because=REBUILT,
        started=started,
        aborted=started,
        complete=refs,
    )
