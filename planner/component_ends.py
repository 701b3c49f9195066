"""Spouts and bolts at the ends of a pipeline: steps that make records of tuples, and tuples of records."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from heronpy.pipeline.graph import Graph, MapOp, Op, ReadOp, Step, StepInput, WriteOp


def is_component(op: Op) -> bool:
    """Whether a source or sink is a spout or bolt of the user's, which only the engine runs."""
    match op:
        case ReadOp(source=end) | WriteOp(sink=end):
            return getattr(end, "component", None) is not None
    return False


def adapted(graph: Graph) -> Graph:
    """A spout's tuples become records in the step behind it, a bolt's records become tuples before it."""
    spouts = {step.name for step in graph.steps if isinstance(step.op, ReadOp) and is_component(step.op)}

    def behind(read: StepInput) -> StepInput:
        return dataclasses.replace(read, step=_records(read.step)) if read.step in spouts else read

    def change(step: Step) -> list[Step]:
        match step.op:
            case ReadOp(source=source) if step.name in spouts:
                return [step, _beside(step, _records(step.name), MapOp(_Records(source.as_)), step.name)]
            case WriteOp(sink=sink) if is_component(step.op):
                fields = _beside(step, f"{step.name}:fields", MapOp(_Fields(tuple(sink.fields), sink.spread)))
                before = dataclasses.replace(fields, inputs=tuple(map(behind, step.inputs)))
                return [before, dataclasses.replace(step, inputs=(StepInput(before.name),))]
        return [dataclasses.replace(step, inputs=tuple(map(behind, step.inputs)))]

    return graph.changed(change)


def _records(spout: str) -> str:
    return f"{spout}:records"


def _beside(step: Step, name: str, op: Op, read: str | None = None) -> Step:
    inputs = () if read is None else (StepInput(read),)
    return dataclasses.replace(step, name=name, op=op, inputs=inputs, par=None)


@dataclasses.dataclass(frozen=True)
class _Records:
    as_: Any

    def __call__(self, values: Sequence[Any]) -> Any:
        return self.as_(*values)


@dataclasses.dataclass(frozen=True)
class _Fields:
    fields: tuple[str, ...]
    spread: bool

    def __call__(self, record: Any) -> Sequence[Any]:
        values = tuple(record) if self.spread else (record,)
        if len(values) != len(self.fields):
            msg = f"{len(values)} values for the fields {', '.join(self.fields)}"
            raise ValueError(msg)
        return values
