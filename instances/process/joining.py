"""How a process that has just started takes part in its topology."""

from __future__ import annotations

from typing import NamedTuple

from heronpy.instances.control_events import ControlEvents
from heronpy.instances.saving.run_membership import has_runs, run_of
from heronpy.kernel.checkpoints.node import Checkpoints
from heronpy.kernel.plans import PhysicalPlan
from heronpy.kernel.tree.update import BOTH_RUN, Update


class Joining(NamedTuple):
    """By which plan, in which run, with what."""

    plan: PhysicalPlan
    run: int
    checkpoints: Checkpoints
    #: whether the task is to do nothing until the plan is released
    waits: bool = False
    #: the update through which a predecessor has handed everything over, if one has
    successor_in: Update | None = None


def entry_of(news: ControlEvents, task: int, incarnation: int) -> Joining | None:
    """None while the process is to wait: it is in no plan yet, or not among the members of a run."""
    plan, checkpoints, update = news.plan, news.checkpoints, news.update
    assert plan is not None
    assert checkpoints is not None
    if not plan.has(task):
        return _entry_by_next_plan(news, checkpoints, task)
    run = run_of(plan, checkpoints, task, incarnation)
    if run is None:
        return None
    if update is not None and _is_restarted(update, plan, task):
        return Joining(plan, run, checkpoints, waits=update.phase == "load", successor_in=update)
    return Joining(plan, run, checkpoints)


def _entry_by_next_plan(news: ControlEvents, checkpoints: Checkpoints, task: int) -> Joining | None:
    """A task that the next plan is the first to have is there before that comes into force."""
    update, proposed = news.update, news.next_plan
    if update is None or proposed is None or update.epoch != proposed.epoch:
        return None
    if update.phase not in BOTH_RUN or not proposed.has(task):
        return None
    return Joining(proposed, checkpoints.run if has_runs(proposed) else 0, checkpoints, waits=True)


def _is_restarted(update: Update, plan: PhysicalPlan, task: int) -> bool:
    restarts = update.kind == "restart" and update.epoch == plan.epoch
    return restarts and update.phase in ("load", "release") and plan.task(task).container in update.containers
