"""Whether all input of a topology has ended. Decides; does no I/O."""

from __future__ import annotations

from heronpy.kernel.master.knowledge.roster import Roster
from heronpy.kernel.plans import PhysicalPlan
from heronpy.kernel.protocol.ending import Ending


def ending_of(plan: PhysicalPlan, roster: Roster) -> Ending:
    """The level that every task has reached; NOT_YET while a process is missing, since it may send more."""
    # as a rule the first task shows it: this is asked at every beat
    if any(roster.beat(task).ending == Ending.NOT_YET for task in plan.tasks) or roster.absent(plan):
        return Ending.NOT_YET
    return Ending(min(roster.beat(task).ending for task in plan.tasks))
