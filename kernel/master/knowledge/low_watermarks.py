"""How far event time has come in each component, and what keeps it back. Decides; no I/O."""

from __future__ import annotations

from collections.abc import Mapping

from heronpy.kernel.flow.watermarks import END, UNKNOWN
from heronpy.kernel.plans import PhysicalPlan, PlacedTask
from heronpy.kernel.protocol import EventTime
from heronpy.kernel.status import ComponentTime


def low_watermarks(
    plan: PhysicalPlan, said: Mapping[int, EventTime], wall: float
) -> tuple[ComponentTime, ...]:
    """`said` has what each task says of itself, as of its last beat; `wall` is the time of day.

    A component is as far as the last of its tasks. What keeps that task back is looked for upstream, from
    each task to the one that it waits for, as far as the beats lead.
    """
    found = []
    for component in plan.logical.upstream_first():
        tasks = [task for task in plan.tasks_of(component) if task.id in said]
        if component not in plan.logical.timed or not tasks:
            continue
        spout = plan.logical.component(component).kind == "spout"
        at, last = min((_reached(said[task.id], spout=spout), task.id) for task in tasks)
        known = UNKNOWN < at < END
        found.append(
            ComponentTime(
                component=component,
                low_watermark=at / 1e6 if known else None,
                lag=wall - at / 1e6 if known else None,
                ended=at == END,
                held_by="" if at == END else _held_by(plan, said, plan.task(last)),
            )
        )
    return tuple(found)


def _reached(time: EventTime, *, spout: bool) -> int:
    return time.output if spout else time.input


def _held_by(plan: PhysicalPlan, said: Mapping[int, EventTime], task: PlacedTask) -> str:
    """The end of the chain: a task that waits for no other, with what it says of itself."""
    first, seen = task, {task.id}
    while True:
        time = said.get(task.id)
        if time is None:
            return f"{task.label}, which has not been heard of"
        if task is not first and time.held_by and time.output < time.input:
            return f"{task.label} {time.held_by}"  # its own work is behind its input
        if not time.waits_for or time.waits_for in seen or not plan.has(time.waits_for):
            break
        seen.add(time.waits_for)
        task = plan.task(time.waits_for)
    if time.held_by:
        return f"{task.label} {time.held_by}"
    return task.label if task is not first else ""
