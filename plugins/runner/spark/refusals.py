"""What a Spark job cannot carry, refused by name before anything starts."""

from __future__ import annotations

from heronpy.kernel.plugin import UnsupportedOnRunner
from heronpy.pipeline.graph import Graph, ReadOp, Step
from heronpy.planner.component_ends import is_component
from heronpy.planner.time_needs import first_timed

NAME = "spark"


def check(plan: Graph) -> None:
    """Raise an UnsupportedOnRunner for the first step that cannot be carried."""
    for step in plan.every_step():
        if is_component(step.op):
            feature = "spouts" if isinstance(step.op, ReadOp) else "bolts"
            raise _refused(feature, step, "--runner engine, or heronpy submit FILE")
        if isinstance(step.op, ReadOp) and not step.bounded:
            endless = "sources that never end"
            raise _refused(endless, step, "--runner local or engine, or a bounded source")
    if timed := first_timed(plan):
        raise _refused(*timed, "--runner local")


def _refused(feature: str, step: Step, hint: str) -> UnsupportedOnRunner:
    return UnsupportedOnRunner(NAME, feature, step.name, step.site, hint=hint)
