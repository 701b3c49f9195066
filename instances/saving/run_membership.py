"""Which run a task takes part in, and when it must leave it for the next."""

from __future__ import annotations

from heronpy.instances.control_events import Abandoned, ControlEvents
from heronpy.kernel.checkpoints.node import Checkpoints
from heronpy.kernel.checkpoints.stored import CheckpointRef
from heronpy.kernel.plans import PhysicalPlan


def has_runs(plan: PhysicalPlan) -> bool:
    """Whether all tasks go back together when one of them dies."""
    return plan.logical.reliability == "effectively_once"


def run_of(plan: PhysicalPlan, checkpoints: Checkpoints, task: int, incarnation: int) -> int | None:
    """The run that this process takes part in; None while it is not a member of one.

    Also None until it has the plan that the run began by: with an older plan it would restore the wrong
    groups from the checkpoint.
    """
    if not has_runs(plan):
        return 0
    is_member = checkpoints.members.get(task) == incarnation
    return checkpoints.run if is_member and plan.epoch >= checkpoints.epoch else None


def origin_of(plan: PhysicalPlan, checkpoints: Checkpoints) -> CheckpointRef | None:
    """The checkpoint that a task starts from: the common one in a run, else the newest complete one."""
    if not has_runs(plan) and checkpoints.complete:
        return checkpoints.complete[-1]
    return checkpoints.base


def rows_are_unsent(plan: PhysicalPlan, checkpoints: Checkpoints, *, first: bool) -> bool:
    """Whether the pending rows of the restored snapshot have to be sent; `first`: the task's first process.

    Without runs, the rows in a checkpoint of this execution have been sent since, so they are not sent again.
    The rows in the checkpoint that the topology was submitted with may have been sent by an earlier process:
    with at most once only the first process sends them.
    """
    if has_runs(plan):
        return True
    if origin_of(plan, checkpoints) != checkpoints.base:
        return False
    return first or plan.logical.reliability != "at_most_once"


class LeaveForNextRun:
    """Abandons the task when the Topology Master has begun a run that is not the task's."""

    def __init__(self, run: int, task: int, incarnation: int) -> None:
        self._run = run
        self._task = task
        self._incarnation = incarnation

    def hear(self, news: ControlEvents) -> None:
        plan, checkpoints = news.plan, news.checkpoints
        assert plan is not None
        assert checkpoints is not None
        run = run_of(plan, checkpoints, self._task, self._incarnation)
        if run is None and not plan.has(self._task):
            run = checkpoints.run  # a new task: the plan that it waits for is valid for the newest run only
        if run is not None and run > self._run:
            raise Abandoned

    def act(self) -> None:
        """Nothing: a run is left as soon as it is known."""
