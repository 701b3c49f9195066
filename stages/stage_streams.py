"""The streams between the stages of a pipeline: one for each edge that leaves a stage."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from heronpy.operators.stage_edges import Edge, edge_of
from heronpy.operators.stamped import Stamped
from heronpy.pipeline.graph import ENDS, Exchange, Graph, ReadOp, Step, StepInput, WriteOp
from heronpy.planner.component_ends import is_component
from heronpy.stream import AnyGrouping, Grouping, Stream

#: how the engine brings about an exchange
GROUPINGS: dict[Exchange, AnyGrouping] = {
    "local or shuffle": Grouping.LOCAL_OR_SHUFFLE,
    "shuffle": Grouping.SHUFFLE,
    "lowest": Grouping.LOWEST,
    "fields(key)": Grouping.fields("key"),
}
#: what the rows of an edge are: as they are, or records with event time, of which readers need it or not
Form = Literal["plain", "timed", "time left out"]


_RECORD: Final = ("record",)
_KEYED: Final = ("key", "record")
_TIME: Final = ("time",)
_SIGNED: Final = ("time", "retracts")
#: fields → tuples of stamped rows, and back
_FROM_STAMPED: Final[dict[tuple[str, ...], Callable[[Sequence[Any]], list[Any]]]] = {
    (*_RECORD, *_TIME): lambda rows: [(s[1], s[0]) for s in rows],
    (*_RECORD, *_SIGNED): lambda rows: [(s[1], s[0], s[2]) for s in rows],
    (*_KEYED, *_TIME): lambda rows: [(key, s[1], s[0]) for key, s in rows],
    (*_KEYED, *_SIGNED): lambda rows: [(key, s[1], s[0], s[2]) for key, s in rows],
}
_TO_STAMPED: Final[dict[tuple[str, ...], Callable[[list[Any]], list[Any]]]] = {
    (*_RECORD, *_TIME): lambda values: [Stamped(time, one) for one, time in values],
    (*_RECORD, *_SIGNED): lambda values: [Stamped(time, one, back) for one, time, back in values],
    (*_KEYED, *_TIME): lambda values: [(key, Stamped(time, one)) for key, one, time in values],
    (*_KEYED, *_SIGNED): lambda values: [(key, Stamped(time, one, back)) for key, one, time, back in values],
}


@dataclass(frozen=True)
class EdgeStream:
    """A stream of the engine that carries the rows of an edge.

    A tuple has a row as its one value, or key and record, or the values of a user's tuple. Records with event
    time come as `Stamped` and are sent as values beside each other: record, time and, where results may be
    taken back, whether this one is.
    """

    name: str
    fields: tuple[str, ...]
    form: Form = "plain"

    def tuples_of(self) -> Callable[[Sequence[Any]], Iterable[Sequence[Any]]]:
        """What makes tuples of rows."""
        wraps = self.fields == _RECORD
        match self.form:
            case "timed":
                return _FROM_STAMPED[self.fields]
            case "time left out" if wraps:
                return lambda rows: [(stamped[1],) for stamped in rows]
            case "time left out":
                return lambda rows: [stamped[1] for stamped in rows]
        return (lambda rows: zip(rows, strict=True)) if wraps else (lambda rows: rows)

    def rows_of(self) -> Callable[[list[Any]], list[Any]]:
        """What makes rows of the values of tuples. Where the time was left out, no step asks for it."""
        if self.form == "timed":
            return _TO_STAMPED[self.fields]
        return (lambda values: [one for (one,) in values]) if self.fields == _RECORD else list


def streams_of(plan: Graph, stage: str) -> dict[Edge, EdgeStream]:
    """The edges that leave a stage, in the order in which they are read."""
    found: dict[Edge, EdgeStream] = {}
    for step in plan.steps:
        for read in step.inputs:
            edge = edge_of(read)
            if read.exchange != "none" and plan[read.step].stage == stage and edge not in found:
                taken = {stream.name for stream in found.values()}
                form = _form(plan, edge)
                found[edge] = EdgeStream(_name(plan, read, taken), _fields(plan, step, read, form), form)
    return found


def _form(plan: Graph, edge: Edge) -> Form:
    if not plan[edge.step].timed:
        return "plain"
    readers = (step for step, read in plan.readers(edge.step) if edge_of(read) == edge)
    outside = (step for step in readers if step.stage != plan[edge.step].stage)
    return "time left out" if all(isinstance(step.op, ENDS) for step in outside) else "timed"


def _fields(plan: Graph, step: Step, read: StepInput, form: Form) -> tuple[str, ...]:
    if is_component(plan[read.step].op):
        return ()  # what the user's spout declares
    if isinstance(step.op, WriteOp) and is_component(step.op):
        return tuple(step.op.sink.fields)
    fields = _KEYED if read.exchange == "fields(key)" else _RECORD
    if form != "timed":
        return fields
    return (*fields, *(_SIGNED if plan[read.step].retracting_in(read.output) else _TIME))


def _name(plan: Graph, read: StepInput, taken: set[str]) -> str:
    if isinstance(plan[read.step].op, ReadOp) and is_component(plan[read.step].op):
        return Stream.DEFAULT_STREAM_ID
    parts = (read.step, read.output, read.key.step if read.key is not None else "")
    wanted = re.sub(r"[^A-Za-z0-9_.-]", ".", "-".join(filter(None, parts)).replace("¹", ".partial"))
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}-{number}", number + 1
    return name
