"""Which tasks hold this one up by giving it no credit, and since when."""

from __future__ import annotations

import logging
from collections.abc import Callable

from heronpy.kernel.plans import PhysicalPlan

log = logging.getLogger(__name__)

#: seconds after which a lack of credit is worth a line; a few milliseconds of it are how a pipeline breathes
NOTABLE = 1.0


class HoldUps:
    """Written by the task's own thread; may be read from any thread."""

    def __init__(self, plan: PhysicalPlan, clock: Callable[[], float]) -> None:
        self._plan = plan
        self._clock = clock
        #: task → since when
        self._since: dict[int, float] = {}
        self._logged: set[int] = set()
        #: task → seconds of hold-ups that are over
        self._over: dict[int, float] = {}
        #: labels of all tasks that ever held this one up: some may not be in the plan any more
        self._labels: dict[int, str] = {}

    def use_plan(self, plan: PhysicalPlan) -> None:
        """Another plan is in force: hold-ups by tasks that are not in it are over."""
        kept = {task.id for task in plan.tasks}
        for gone in [task for task in self._since if task not in kept]:
            self.end(gone)
        self._plan = plan

    def __contains__(self, task: int) -> bool:
        return task in self._since

    def __bool__(self) -> bool:
        return bool(self._since)

    def begin(self, task: int) -> None:
        """A batch for a task cannot be sent for want of credit; called at every attempt."""
        if task not in self._since:
            self._labels[task] = self._plan.task(task).label
            self._since[task] = self._clock()

    def end(self, task: int) -> None:
        """Nothing waits for this task any more."""
        lasted = self._clock() - self._since[task]
        # In this order: a thread that adds the two up must not see the time vanish.
        self._over[task] = self._over.get(task, 0.0) + lasted
        del self._since[task]
        if task in self._logged:
            self._logged.discard(task)
            log.info("no longer held up by %s, after %.1f s", self._label(task), lasted)

    def log_notable(self) -> None:
        """One line for each that has lasted; called now and then."""
        for task, seconds in self.lasting().items():
            if seconds >= NOTABLE and task not in self._logged:
                self._logged.add(task)
                where = self._plan.task(task).container
                log.warning("held up by %s in container %d, which gives no credit", self._label(task), where)

    def lasting(self) -> dict[int, float]:
        """Task → seconds, of the tasks that hold this one up at this moment."""
        now = self._clock()
        return {task: now - since for task, since in self._since.copy().items()}

    def seconds(self) -> dict[str, float]:
        """Label of a task → total seconds that it has held this one up."""
        totals = self.lasting()
        for task, over in self._over.copy().items():
            totals[task] = totals.get(task, 0.0) + over
        return {self._label(task): seconds for task, seconds in totals.items()}

    def _label(self, task: int) -> str:
        return self._labels[task]
