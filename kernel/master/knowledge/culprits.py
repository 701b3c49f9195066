"""The tasks that cause back-pressure, found from the hold-ups that emitters report. Decides; no I/O."""

from __future__ import annotations

from collections.abc import Mapping

from heronpy.kernel.plans import PhysicalPlan
from heronpy.kernel.status import Backpressure

#: seconds without credit that count; shorter waits are normal in a pipeline
NOTABLE = 1.0


def culprits(
    plan: PhysicalPlan, held_up: Mapping[int, Mapping[int, float]], wall: float
) -> tuple[Backpressure, ...]:
    """`held_up` has for each emitter the tasks that give it no credit, and for how many seconds by now.

    `wall` is the time of day.

    A task that holds others up because it is held up itself is no culprit: the last one downstream is.
    """
    lasting = {
        emitter: {task: seconds for task, seconds in by.items() if seconds > NOTABLE}
        for emitter, by in held_up.items()
    }
    tasks = {task.id: task for task in plan.tasks}
    spouts = {one.name for one in plan.logical.components if one.kind == "spout"}
    blamed = {task for by in lasting.values() for task in by if task in tasks}
    found = []
    for culprit in sorted(blamed):
        if not lasting.get(culprit):
            waiting = [tasks[task] for task in sorted(_upstream(culprit, lasting))]
            seconds = max(by[culprit] for by in lasting.values() if culprit in by)
            found.append(
                Backpressure(
                    culprit=tasks[culprit].label,
                    container=tasks[culprit].container,
                    since=wall - seconds,
                    seconds=seconds,
                    spouts=tuple(one.label for one in waiting if one.component in spouts),
                    bolts=tuple(one.label for one in waiting if one.component not in spouts),
                )
            )
    return tuple(found)


def _upstream(culprit: int, lasting: Mapping[int, Mapping[int, float]]) -> set[int]:
    """The tasks that wait for it, directly or through others."""
    held = {culprit}
    waiting: set[int] = set()
    while held:
        held = {emitter for emitter, by in lasting.items() if not held.isdisjoint(by)} - waiting
        waiting |= held
    return waiting
