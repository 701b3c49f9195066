"""Fusion: steps that need no exchange between them share a stage."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable

from heronpy.pipeline.graph import ENDS, STATEFUL, Graph, MapAsyncOp, ReadOp, Step
from heronpy.planner.component_ends import is_component

#: what never joins the stage before it
_BEGINS = (ReadOp, MapAsyncOp, *STATEFUL, *ENDS)


def fused(graph: Graph) -> Graph:
    """Each step with the stage that it runs in, called by the step that it begins with.

    A step without state joins the stage before it, unless it asks for other tasks; steps that read the same
    records by the same key join each other.
    """
    stage_of: dict[str, str] = {}
    par_of: dict[str, int | None] = {}
    by_reading: dict[Hashable, str] = {}

    def stage(step: Step) -> str:
        before = {stage_of[read.step] for read in step.inputs}
        begins = isinstance(step.op, _BEGINS) or any(
            read.rebalanced or is_component(graph[read.step].op) for read in step.inputs
        )
        if not begins and len(before) == 1:
            (only,) = before
            if step.par is None or step.par == par_of[only]:
                return only
        if any(read.key is not None for read in step.inputs):
            reading = frozenset((i.step, i.output, i.key and i.key.step) for i in step.inputs), step.par
            return by_reading.setdefault(reading, step.name)
        return step.name

    def change(step: Step) -> list[Step]:
        found = stage(step)
        stage_of[step.name] = found
        par_of.setdefault(found, step.par)
        return [dataclasses.replace(step, stage=found)]

    return graph.changed(change)
