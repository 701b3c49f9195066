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

    A component is as far as the last of its tasks that are waited for. What keeps that task back is looked
    for upstream, from each task to the one that it waits for, as far as the beats lead.
    """
    found, timed = [], _with_time(plan, said)
    for component in plan.logical.upstream_first():
        times = {task.id: said[task.id] for task in plan.tasks_of(component) if task.id in said}
        if not times or component not in timed:
            continue
        at, last = _low(times)
        known = UNKNOWN < at < END
        found.append(
            ComponentTime(
                component=component,
                low_watermark=at / 1e6 if known else None,
                lag=wall - at / 1e6 if known else None,
                ended=at == END,
                held_by="" if last is None else _held_by(plan, said, plan.task(last)),
            )
        )
    return tuple(found)


def _with_time(plan: PhysicalPlan, said: Mapping[int, EventTime]) -> set[str]:
    """The components that watermarks go through: none in front of those where all event time begins."""
    logical, found = plan.logical, set[str]()
    for component in reversed(logical.upstream_first()):
        readers = {task.component for task in plan.downstream_of(component)} & found
        going_on = (reader for reader in readers if not _begins(plan, said, reader))
        if component in logical.timed and (logical.component(component).hears_watermarks or any(going_on)):
            found.add(component)
    return found


def _begins(plan: PhysicalPlan, said: Mapping[int, EventTime], component: str) -> bool:
    return all(task.id in said and said[task.id].begins for task in plan.tasks_of(component))


def _low(times: Mapping[int, EventTime]) -> tuple[int, int | None]:
    """How far the tasks of a component are, and the task that is waited for, if one is.

    Idle ones have left the minimum, so that it is where the last of them was when it was left out, or beyond.
    """
    reached = {task: time.output if time.begins else time.input for task, time in times.items()}
    waited_for = [(at, task) for task, at in reached.items() if at < END and not times[task].idle]
    if waited_for:
        return min(waited_for)
    idle = [at for task, at in reached.items() if UNKNOWN < at < END and times[task].idle]
    return max(idle, default=END if END in reached.values() else UNKNOWN), None


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
