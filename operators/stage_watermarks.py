"""Watermarks through the steps of one stage: each step has the minimum over what it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from heronpy.kernel.flow.watermarks import LowWatermark
from heronpy.operators.stage_edges import Edge, edge_of
from heronpy.pipeline.graph import EventTimeOp, Graph, Step


class StageWatermarks:
    """What the steps of a stage know of event time, and what leaves the stage."""

    def __init__(self, graph: Graph, stage: str) -> None:
        self._graph, self._stage = graph, stage
        self._low: dict[str, LowWatermark] = {}
        #: step → what it does when event time goes on
        self._listeners: dict[str, Callable[[int], None]] = {}
        self._leaving: dict[Edge, tuple[int, bool]] = {}
        for step in graph.steps:
            if step.stage == stage and _follows(step):
                self._low[step.name] = LowWatermark([edge_of(read) for read in step.inputs])

    def listen(self, step: str, listener: Callable[[int], None]) -> None:
        self._listeners[step] = listener

    def advance(self, step: str, edge: Edge, watermark: int, *, idle: bool = False) -> None:
        """What a step reads has come so far: it does what is due, and only then are those behind it told."""
        low = self._low.get(step)
        if low is None or not low.say(edge, watermark, idle=idle):
            return
        if step in self._listeners:
            self._listeners[step](low.value)
        self.say(step, low.value, low.idle)

    def say(self, step: str, watermark: int, idle: bool) -> None:
        """A step has come so far."""
        told: set[tuple[str, Edge]] = set()
        for reader, read in self._graph.readers(step):
            edge = edge_of(read)
            if reader.stage != self._stage:
                self._leaving[edge] = watermark, idle
            elif (reader.name, edge) not in told:
                told.add((reader.name, edge))
                self.advance(reader.name, edge, watermark, idle=idle)

    def fetch(self) -> Iterable[tuple[Edge, tuple[int, bool]]]:
        """What is new for other stages, once; to be sent behind the rows that were made before."""
        leaving, self._leaving = self._leaving, {}
        return leaving.items()


def _follows(step: Step) -> bool:
    return step.timed and not isinstance(step.op, EventTimeOp)
