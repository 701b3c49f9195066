"""Which tasks live in a process by what it has heard: they change while it runs."""

from __future__ import annotations

from heronpy.instances.control_events import ControlEvents
from heronpy.kernel.plans import PhysicalPlan
from heronpy.kernel.tree.update import BOTH_RUN


def tenants(news: ControlEvents, container: int, slot: int) -> set[int] | None:
    """The tasks of a slot, also those that only the next plan has; None while it is not known.

    It is not known between the end of an update and the plan that it has put in force, which may be heard
    later: a task that is new in it must not end and begin once more.
    """
    plan, update, coming = news.plan, news.update, news.next_plan
    assert plan is not None
    if update is not None and update.phase == "done" and plan.epoch < update.epoch:
        return None
    found = _in_slot(plan, container, slot)
    if update is not None and update.phase in BOTH_RUN:
        if coming is None or coming.epoch != update.epoch:
            return None
        found |= _in_slot(coming, container, slot)
    return found


def _in_slot(plan: PhysicalPlan, container: int, slot: int) -> set[int]:
    return {task.id for task in plan.tasks if (task.container, task.slot) == (container, slot)}
