"""Steps that need event time or timers, which not every runner has."""

from __future__ import annotations

from heronpy.pipeline.graph import EventTimeOp, Graph, ProcessOp, Step, WindowOp


def first_timed(plan: Graph) -> tuple[str, Step] | None:
    """What a plan needs of time, in a word, and the step that needs it."""
    needs = {"windows": WindowOp, "event time": EventTimeOp}
    for feature, kind in needs.items():
        for step in plan.every_step():
            if isinstance(step.op, kind):
                return feature, step
    for step in plan.every_step():
        if isinstance(step.op, ProcessOp) and (step.op.on_timer or step.op.ttl):
            return "timers", step
    return None
