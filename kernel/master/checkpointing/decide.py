"""When a checkpoint begins, which tasks must store a part, and when it is complete or given up.

Decides; does no I/O and has no clock of its own.
"""

from __future__ import annotations

from typing import NamedTuple

from heronpy.kernel.checkpoints.node import Checkpoints
from heronpy.kernel.checkpoints.stored import StoredPart
from heronpy.kernel.master.knowledge.roster import Roster, named, parts_of
from heronpy.kernel.plans import PhysicalPlan, PlacedTask

#: seconds until a checkpoint that an update waits for is tried again, if it is given up
AGAIN = 1.0


class Round(NamedTuple):
    """A checkpoint that is being taken: by these tasks, each in this incarnation."""

    id: int
    run: int
    plan: PhysicalPlan
    members: dict[int, int]
    began: float
    #: the parts that each task has stored so far
    parts: dict[int, tuple[StoredPart, ...]]
    #: … and the number of transactions that it commits
    transactions: dict[int, int]

    def missing(self) -> list[PlacedTask]:
        return [task for task in self.plan.tasks if task.id not in self.parts]

    @property
    def complete(self) -> bool:
        return len(self.parts) == len(self.members)


class Checkpointing:
    """One checkpoint at a time."""

    def __init__(self, interval: float, timeout: float, now: float) -> None:
        #: 0 for on demand only
        self.interval = interval
        self._timeout = timeout
        #: when the current interval began
        self._last = now
        self.round: Round | None = None
        #: whether a command has asked for one
        self.demanded = False

    def due(self, now: float, *, owed: bool = False, unchanged: bool = False) -> bool:
        """Whether a checkpoint is due.

        `owed`: something waits for it. `unchanged`: it would be the same as the newest complete one.
        """
        if owed and now - self._last >= AGAIN:
            return True
        by_interval = bool(self.interval and now - self._last >= self.interval)
        return self.demanded or (by_interval and not unchanged)

    @staticmethod
    def unchanged(node: Checkpoints, plan: PhysicalPlan, roster: Roster) -> bool:
        """Whether all tasks are as they were in the newest complete checkpoint."""
        if not node.complete or node.complete[-1].epoch != plan.epoch:
            return False
        newest = node.complete[-1].id
        return all(roster.beat(task).unchanged_since == newest for task in plan.tasks)

    def obstacles(self, node: Checkpoints, plan: PhysicalPlan, roster: Roster) -> list[str]:
        """Tasks that are not ready: one that does not run would never store its part."""
        return roster.idle(plan) or roster.behind(plan, node.run)

    def begin(self, node: Checkpoints, plan: PhysicalPlan, roster: Roster, now: float) -> None:
        """The node has been written: the checkpoint has begun."""
        members = roster.incarnations(plan.tasks)
        self.round = Round(node.started, node.run, plan, members, now, {}, {})
        self._last, self.demanded = now, False

    def collect(self, roster: Roster) -> None:
        """Collect the parts that beats report as stored for this checkpoint and run."""
        current = self.round
        if current is None:
            return
        for task in current.missing():
            stored = roster.beat(task).snapshot
            fits = (stored.id, stored.run, roster.incarnation(task)) == (
                current.id,
                current.run,
                current.members[task.id],
            )
            if fits and not stored.error:
                current.parts[task.id] = parts_of(stored)
                current.transactions[task.id] = stored.transactions

    def why_give_up(self, roster: Roster, now: float) -> str:
        """Empty while it may still become complete."""
        current = self.round
        if current is None:
            return ""
        for task in current.plan.tasks:
            if roster.incarnation(task) != current.members[task.id]:
                return roster.fate(task)
            stored = roster.beat(task).snapshot
            if stored.error and (stored.id, stored.run) == (current.id, current.run):
                return f"{task.label}: {stored.error}"
            if not roster.is_there(task):
                return roster.doing(task)
        if now - current.began > self._timeout and not current.complete:
            late = named([roster.doing(task) for task in current.missing()])
            return f"not complete after {self._timeout:g} s, waiting for {late}"
        return ""

    def end(self) -> Round | None:
        """It is complete or given up."""
        ended, self.round = self.round, None
        return ended
