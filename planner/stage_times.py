"""What a stage knows of event time, in words."""

from __future__ import annotations

from heronpy.kernel.config.units import format_duration
from heronpy.pipeline.graph import EventTimeOp, WindowOp
from heronpy.pipeline.watermarks import BoundedDisorder
from heronpy.planner.planning import PlannedStage


def watermark_of(stage: PlannedStage) -> str:
    """Where its watermark comes from, and for how long its windows take what is late."""
    if not any(step.timed for step in stage.steps):
        return "-"
    ops = [step.op for step in stage.steps]
    per = "split" if stage.kind == "spout" else "task"
    said = [f"per {per}, {_lag(op)}" for op in ops if isinstance(op, EventTimeOp)]
    parts = said or ["lowest of its inputs"]
    late = {op.lateness for op in ops if isinstance(op, WindowOp)}
    return "; ".join([*dict.fromkeys(parts), *(f"lateness {_time(one)}" for one in sorted(late))])


def _lag(op: EventTimeOp) -> str:
    marks = op.watermarks
    lag = f"lag {_time(marks.lag)}" if isinstance(marks, BoundedDisorder) else type(marks).__name__
    return lag if op.idle is None else f"{lag}, idle {_time(op.idle)}"


def _time(micros: int) -> str:
    return format_duration(micros / 1_000_000)
