"""What a master finds out from other nodes when its predecessor's cannot be read. Decides; does no I/O."""

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

#: checkpoints that may have been begun and given up without a trace in the store: tasks that go on in their
#: run do not take part in one of the same number again
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
    """The plan of the damaged node; the damage itself if more than one may be in force.

    The packing follows a plan that is in force already, and an update says "release" when its plan is.
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
    """An update in place of the one whose node is damaged; the damage itself if it may be half in force.

    What was asked for and had not begun has to be asked for again. `number` is above that of any before.
    """
    if packing.epoch != plan.epoch:
        raise damage
    if coming is None or coming.epoch <= plan.epoch:
        return Update(number=number, epoch=plan.epoch, phase="done", packing=packing)
    # ids of tasks that it has brought are used up
    used = msgspec.structs.replace(packing, next_task=max(task.id for task in coming.tasks) + 1)
    reason = f"the node {damage.path} was damaged"
    return Update(number=number, epoch=coming.epoch, phase="rollback", packing=used, reason=reason)


def checkpoints_as_stored(
    stored: InStore, plan: PhysicalPlan, roster: Roster, *, number: int, retain: int
) -> Checkpoints:
    """The node by what the store has and by what the tasks have heard; all of them must have been heard.

    It has no members: if the topology has runs, another one begins, with the newest of these checkpoints.
    """
    beats = [roster.beat(task) for task in plan.tasks]
    refs = stored.refs[-retain:]
    skipped = 0 if plan.logical.reliability == "effectively_once" else SKIPPED
    started = max([0, *(ref.id for ref in refs), *(beat.snapshot.id for beat in beats)]) + skipped
    return Checkpoints(
        number=max(number, *(beat.checkpoints + 1 for beat in beats)),
        run=max([stored.run, *(beat.run for beat in beats)]),
        because=REBUILT,
        started=started,
        aborted=started,
        complete=refs,
    )
