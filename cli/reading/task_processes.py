"""The processes that tasks share, by the names of the tasks."""

from __future__ import annotations

from heronpy.cli.reading.topologies import open_state
from heronpy.kernel.config import Config
from heronpy.kernel.errors import StateError
from heronpy.kernel.machine.addresses import process_name
from heronpy.kernel.plans import PhysicalPlan, is_fused
from heronpy.kernel.tree.paths import Tree
from heronpy.kernel.tree.registrations import read


def processes_of(config: Config, name: str, who: str) -> set[str]:
    """Those of a component (count) or a task (count[1]) that shares them; empty if it shares none."""
    try:
        with open_state(config) as state:
            plan = read(state, Tree(name).physical_plan, PhysicalPlan)
    except StateError:
        return set()
    if plan is None or not is_fused(plan.logical):
        return set()
    tasks = [task for task in plan.tasks if who in (task.component, task.label)]
    return {process_name(task.label, task.container, fused=True) for task in tasks}
