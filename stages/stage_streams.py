"""The streams between the stages of a pipeline: one for each edge that leaves a stage."""

from __future__ import annotations

import re
from typing import NamedTuple

from heronpy.operators.stage_edges import Edge, edge_of
from heronpy.pipeline.graph import Exchange, Graph, ReadOp, Step, StepInput, WriteOp
from heronpy.planner.component_ends import is_component
from heronpy.stream import AnyGrouping, Grouping, Stream

#: how the engine brings about an exchange
GROUPINGS: dict[Exchange, AnyGrouping] = {
    "local or shuffle": Grouping.LOCAL_OR_SHUFFLE,
    "shuffle": Grouping.SHUFFLE,
    "lowest": Grouping.LOWEST,
    "fields(key)": Grouping.fields("key"),
}


class EdgeStream(NamedTuple):
    """A stream of the engine that carries the rows of an edge."""

    name: str
    fields: tuple[str, ...]

    @property
    def wraps(self) -> bool:
        """Whether a tuple has a row as its one value; else a row is the values of a tuple."""
        return self.fields == ("record",)


def streams_of(plan: Graph, stage: str) -> dict[Edge, EdgeStream]:
    """The edges that leave a stage, in the order in which they are read."""
    found: dict[Edge, EdgeStream] = {}
    for step in plan.steps:
        for read in step.inputs:
            edge = edge_of(read)
            if read.exchange != "none" and plan[read.step].stage == stage and edge not in found:
                taken = {stream.name for stream in found.values()}
                found[edge] = EdgeStream(_name(plan, read, taken), _fields(plan, step, read))
    return found


def _fields(plan: Graph, step: Step, read: StepInput) -> tuple[str, ...]:
    if is_component(plan[read.step].op):
        return ()  # what the user's spout declares
    if isinstance(step.op, WriteOp) and is_component(step.op):
        return tuple(step.op.sink.fields)
    return ("key", "record") if read.exchange == "fields(key)" else ("record",)


def _name(plan: Graph, read: StepInput, taken: set[str]) -> str:
    if isinstance(plan[read.step].op, ReadOp) and is_component(plan[read.step].op):
        return Stream.DEFAULT_STREAM_ID
    parts = (read.step, read.output, read.key.step if read.key is not None else "")
    wanted = re.sub(r"[^A-Za-z0-9_.-]", ".", "-".join(filter(None, parts)).replace("¹", ".partial"))
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}-{number}", number + 1
    return name
