"""A pipeline as a test runs it: its sources give what is fed, and what its steps make is kept for a look."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from heronpy.kernel.errors import UserError, did_you_mean
from heronpy.pipeline.graph import (
    LATE,
    MAIN,
    STATEFUL,
    EventTimeOp,
    Graph,
    HashJoinOp,
    ReadOp,
    Step,
    StepInput,
    WriteOp,
)
from heronpy.pipeline.pipeline import Pipeline
from heronpy.pipeline.times import to_datetime
from heronpy.pipeline.watermarks import OfArrival
from heronpy.planner.component_ends import is_component
from heronpy.stages.found_pipeline import PlannedPipeline, planned_once
from heronpy.submissions import submissions
from heronpy.testing.pipelines.fed_source import FedSource, FedWatermarks
from heronpy.testing.pipelines.kept_sink import KeptSink


class TestedPipeline(Pipeline):
    """Takes the place of a pipeline while tasks are made for a test."""

    __test__ = False

    def __init__(self, tested: Pipeline, splits: int | Mapping[str, Sequence[str]]) -> None:
        self.name, self.guarantee = tested.name, tested.guarantee
        self.key_groups, self.config = tested.key_groups, tested.config
        self._splits = splits
        #: step → what stands in for its source
        self.sources: dict[str, FedSource] = {}
        #: step and output → what it has made; of a write, what was written
        self.kept: dict[tuple[str, str], KeptSink] = {}
        #: step with event time → the source whose test times it takes
        self.timed_by: dict[str, FedSource] = {}
        self._graph = self._rebuilt(tested.graph())

    def graph(self) -> Graph:
        return self._graph

    @property
    def planned(self) -> PlannedPipeline:
        return planned_once(self)

    @contextlib.contextmanager
    def standing_in(self) -> Iterator[None]:
        """Tasks that are made meanwhile find this pipeline by its name."""
        pipelines, submissions.pipelines = submissions.pipelines, [self]
        try:
            yield
        finally:
            submissions.pipelines = pipelines

    def source(self, name: str) -> FedSource:
        if (found := self.sources.get(name)) is None:
            msg = f"the pipeline {self.name!r} reads no {name!r}{did_you_mean(name, self.sources)}"
            raise UserError(msg, hint=f"one of {', '.join(map(repr, self.sources))}")
        return found

    def stage_of(self, step: str) -> str:
        """The component that a step runs in."""
        plan = self.planned.plan
        names = {one.name: one.stage for one in plan.steps}
        found = names.get(step) or names.get(f"{step}²")
        if found is None:
            msg = f"the pipeline {self.name!r} has no step {step!r}{did_you_mean(step, list(names))}"
            raise UserError(msg)
        return found

    def _rebuilt(self, graph: Graph) -> Graph:
        tables = _read_for_tables(graph)
        for step in graph.steps:
            if isinstance(step.op, ReadOp) and not is_component(step.op) and step.name not in tables:
                self.sources[step.name] = FedSource(step.name, self._splits_of(step.name))
        steps = [self._changed(graph, step) for step in graph.steps]
        taps = [self._tap(step, output) for step in graph.steps for output in _looked_at(graph, step)]
        return dataclasses.replace(graph, steps=(*steps, *taps))

    def _splits_of(self, step: str) -> Sequence[str]:
        if isinstance(self._splits, int):
            return [str(number) for number in range(self._splits)]
        return self._splits.get(step, ["0"])

    def _changed(self, graph: Graph, step: Step) -> Step:
        op: Any = step.op
        if step.name in self.sources:
            # what a test feeds need not end; what was refused for that is refused by the pipeline itself
            op = ReadOp(self.sources[step.name])
        elif isinstance(op, WriteOp) and not is_component(op):
            op = dataclasses.replace(op, sink=self._keep(step.name, MAIN))
        elif isinstance(op, EventTimeOp) and not isinstance(op.watermarks, OfArrival):
            source = self.sources.get(_origin(graph, step))
            if source is not None:
                self.timed_by[step.name] = source
                by, watermarks = _given_or(source, op.by), FedWatermarks(source, op.watermarks)
                op = dataclasses.replace(op, by=by, watermarks=watermarks)
        return dataclasses.replace(step, op=op)

    def _tap(self, step: Step, output: str) -> Step:
        """A write of what a step makes, beside the pipeline's own."""
        name = f"{step.name}:{output or 'results'}:kept"
        op = WriteOp(self._keep(step.name, output))
        retracted = step.retracting_in(output)
        return Step(
            name, op, (StepInput(step.name, output),), bounded=step.bounded, site=step.site,
            retracted=retracted,
        )  # fmt: skip

    def _keep(self, step: str, output: str) -> KeptSink:
        sink = self.kept[step, output] = KeptSink(f"{step}:{output or 'results'}")
        return sink


def _looked_at(graph: Graph, step: Step) -> list[str]:
    """The outputs of a step that a test may ask for; late records only if the pipeline reads them."""
    if not isinstance(step.op, STATEFUL):
        return []
    reads_late = any(read.output == LATE for _, read in graph.readers(step.name))
    return [MAIN, LATE] if reads_late else [MAIN]


def _read_for_tables(graph: Graph) -> set[str]:
    """The steps that make the tables of hash joins: those are read whole, before the first record."""
    found: set[str] = set()
    for step in reversed(graph.steps):
        for read in step.inputs:
            if step.name in found or (isinstance(step.op, HashJoinOp) and read.slot == 1):
                found.add(read.step)
    return found


def _origin(graph: Graph, step: Step) -> str:
    """The source behind which a step stands, with nothing between them that moves records to other tasks."""
    while len(step.inputs) == 1 and not isinstance(step.op, ReadOp):
        (read,) = step.inputs
        if read.rebalanced or read.key is not None:
            return ""
        step = graph[read.step]
    return step.name if isinstance(step.op, ReadOp) else ""


def _given_or(source: FedSource, by: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The time that the test gave, else that of the pipeline."""

    def time_of(record: Any) -> Any:
        return by(record) if source.time is None else to_datetime(source.time)

    return time_of
