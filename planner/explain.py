"""A plan as text: stages, what runs in each, what crosses the network and what is kept."""

from __future__ import annotations

from collections.abc import Mapping

from heronpy.pipeline.graph import Graph, HashJoinOp, PartialOp, Step
from heronpy.planner.planning import PlannedStage, phase, stages
from heronpy.planner.stage_times import watermark_of

_COLUMNS = ("stage", "kind", "tasks", "steps", "exchange in", "state", "watermark")


def explained(graph: Graph, *, cores: int, splits: Mapping[str, int] | None = None) -> str:
    """A table of a planned graph, as `heronpy plan --explain` prints it."""
    rows = [_COLUMNS, *(_row(graph, stage, cores, splits or {}) for stage in stages(graph))]
    if not any(step.timed for step in graph.steps):
        rows = [row[:-1] for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    if any(phase(step) for step in graph.steps):
        lines.append("¹ partial, in the task that makes the records  ² final, behind the exchange")
    if derived := [step.name for stage in stages(graph) for step in stage.stateful if step.derived]:
        lines.append(f"state is found by its step's name; these names are derived: {', '.join(derived)}")
    if graph.unread:
        lines.append(f"nothing writes what these make, so they are left out: {', '.join(graph.unread)}")
    for step in graph.steps:
        if isinstance(step.op, HashJoinOp) and step.op.table is not None:
            lines += ["", f"table of {step.name}, read by each of its tasks before the first record:"]
            inner = explained(step.op.table, cores=cores, splits=splits)
            lines += [f"  {line}" for line in inner.splitlines()]
    return "\n".join(lines)


def _row(graph: Graph, stage: PlannedStage, cores: int, splits: Mapping[str, int]) -> tuple[str, ...]:
    tasks = str(stage.tasks(cores, splits))
    exchanges = _exchanges(graph, stage)
    return stage.name, stage.kind, tasks, _path(stage), exchanges, stage.state, watermark_of(stage)


def _path(stage: PlannedStage) -> str:
    """Steps in a line; a branch begins anew with the step that it leaves."""
    parts: list[str] = []
    before = ""
    for step in stage.steps:
        inside = [read for read in step.inputs if read.exchange == "none"]
        if parts and (not inside or inside[0].step != before):
            parts.append("; " + (f"{inside[0].step} → " if inside else ""))
        elif parts:
            parts.append(" → ")
        if inside and inside[0].key is not None:
            parts.append(f"{inside[0].key.step} → ")
        parts.append(shown(step))
        before = step.name
    return "".join(parts)


def shown(step: Step) -> str:
    """A step's name, with its mark."""
    return (step.op.of if isinstance(step.op, PartialOp) else step.name) + phase(step)


def _exchanges(graph: Graph, stage: PlannedStage) -> str:
    found = []
    for _, read in stage.inputs:
        how = f"fields({read.key.step})" if read.key is not None else str(read.exchange)
        found.append(f"{how} from {graph[read.step].stage}")
    return ", ".join(dict.fromkeys(found)) or "-"
