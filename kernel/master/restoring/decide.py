"""Effectively once: which processes are members of a run, and when another run must begin.

Decides; does no I/O and has no clock of its own.
"""

from __future__ import annotations

from typing import NamedTuple

from heronpy.kernel.checkpoints.node import Checkpoints
from heronpy.kernel.checkpoints.stored import CheckpointRef
from heronpy.kernel.master.knowledge.roster import AT_WORK, Roster
from heronpy.kernel.plans import PhysicalPlan


class NextRun(NamedTuple):
    """A run that begins as soon as a checkpoint has been found for it."""

    run: int
    because: str
    members: dict[int, int]
    managers: dict[int, int]
    #: what it may begin with, best first; empty for nothing at all
    bases: tuple[CheckpointRef, ...]
    #: whether the last run never got to work: a part of its checkpoint may be damaged
    suspicious: bool

    def committed_after(self, base: CheckpointRef | None) -> int:
        """External transactions that would be repeated."""
        return sum(ref.transactions for ref in self.bases if base is None or ref.id > base.id)


class Restoring:
    """A run ends when one of its processes is replaced, or when a tuple is lost."""

    def __init__(self) -> None:
        #: newest run in which all tasks were seen at work
        self._sound = 0

    def watch(self, node: Checkpoints, plan: PhysicalPlan, roster: Roster) -> None:
        """Note that a run works."""
        beats = [roster.beat(task) for task in plan.tasks]
        if node.run and all(beat.run == node.run and beat.state in AT_WORK for beat in beats):
            self._sound = node.run

    def why(self, node: Checkpoints, plan: PhysicalPlan, roster: Roster) -> str:
        """Why another run must begin; empty if the present one goes on.

        A task without a beat so far is no reason: a master that has just started must not end a healthy run.
        """
        if not node.run:
            return "the topology starts"
        if not node.members:
            return node.because  # rebuilt node: the members of that run are not known
        for task in plan.tasks:
            if roster.incarnation(task) not in (0, node.members.get(task.id)):
                return roster.fate(task)
        for container in plan.containers():
            if roster.managers.get(container, 0) not in (0, node.managers.get(container)):
                return roster.manager_fate(container)
        for task in plan.tasks:
            if roster.beat(task).broken_run == node.run:
                return f"tuples on their way to {task.label} were lost"
        return ""

    def next_run(self, node: Checkpoints, plan: PhysicalPlan, roster: Roster, because: str) -> NextRun | None:
        """The run to begin, once all tasks are there: one that came later would require another run."""
        if roster.absent(plan):
            return None
        # Only complete checkpoints; the one that the topology was submitted with only while there is none.
        bases = tuple(reversed(node.complete)) or ((node.base,) if node.base is not None else ())
        return NextRun(
            node.run + 1,
            because,
            roster.incarnations(plan.tasks),
            {container: roster.managers[container] for container in plan.containers()},
            bases,
            suspicious=bool(node.run) and self._sound < node.run,
        )
