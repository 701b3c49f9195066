"""Watermarks through the steps of one stage: each step has the minimum over what it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from heronpy.kernel.flow.watermarks import LowWatermark
from heronpy.operators.stage_edges import Edge, edge_of
from heronpy.pipeline.graph import EventTimeOp, Graph, Step


class StageWatermarks:
    """What the steps of a stage know of event time, and what leaves the stage."""

    def __init__(self, graph: Graph, stage: str) -> None:
        self._graph, self._stage = graph, stage
        #: step → what it does when event time goes on
        self._listeners: dict[str, Callable[[int], Iterable[None] | None]] = {}
        #: step → what it hands on before its stage says that it is idle
        self._parting: dict[str, Callable[[], None]] = {}
        self._leaving: dict[Edge, tuple[int, bool]] = {}
        #: steps that read other stages, and what they read
        self._entries: dict[tuple[str, Edge], None] = {}
        leaving: dict[Edge, None] = {}
        #: another stage → what it reads of this one
        self._readers: dict[str, dict[Edge, None]] = {}
        for step in graph.steps:
            for read in step.inputs:
                before = graph[read.step]
                if step.stage == stage and before.stage != stage and _follows(step):
                    self._entries[step.name, edge_of(read)] = None
                elif step.stage != stage and before.stage == stage and before.timed:
                    leaving[edge_of(read)] = None
                    self._readers.setdefault(step.stage, {})[edge_of(read)] = None
        self._edges = tuple(leaving)
        self.rebase()

    def rebase(self) -> None:
        """Event time may be earlier than it was: the keys or splits are others than before."""
        steps = (step for step in self._graph.steps if step.stage == self._stage and _follows(step))
        self._low = {step.name: LowWatermark([edge_of(read) for read in step.inputs]) for step in steps}
        #: the lowest of what leaves the stage
        self.lowest = LowWatermark(self._edges)
        self._by_reader = {stage: LowWatermark(edges) for stage, edges in self._readers.items()}

    @property
    def further(self) -> dict[str, tuple[int, bool]]:
        """The stages for which not the lowest counts, as they read what a step has given another time."""
        lowest = self.lowest.value, self.lowest.idle
        found = ((stage, (low.value, low.idle)) for stage, low in self._by_reader.items())
        return {stage: said for stage, said in found if said != lowest}

    @property
    def reads_time(self) -> bool:
        """Whether a step goes by what other stages say."""
        return bool(self._entries)

    @property
    def has_time(self) -> bool:
        """Whether what leaves the stage has event time."""
        return bool(self._edges)

    def listen(
        self,
        step: str,
        listener: Callable[[int], Iterable[None] | None],
        parting: Callable[[], None] | None = None,
    ) -> None:
        """A step is told how far its input has come; what it does may have pauses.

        `parting`: what a step that holds records does when its input is idle, since others go on."""
        self._listeners[step] = listener
        if parting is not None:
            self._parting[step] = parting

    def advance_all(self, watermark: int, *, idle: bool = False) -> Iterator[None]:
        """All that the stage reads has come so far."""
        for step, edge in self._entries:
            yield from self.advance(step, edge, watermark, idle=idle)

    def advance(self, step: str, edge: Edge, watermark: int, *, idle: bool = False) -> Iterator[None]:
        """What a step reads has come so far: it does what is due, and only then are those behind it told."""
        low = self._low.get(step)
        if low is None or not low.say(edge, watermark, idle=idle):
            return
        if step in self._listeners:
            yield from self._listeners[step](low.value) or ()
        if low.idle and step in self._parting:
            self._parting[step]()
        yield from self.say(step, low.value, low.idle)

    def say(self, step: str, watermark: int, idle: bool) -> Iterator[None]:
        """A step has come so far."""
        told: set[tuple[str, Edge]] = set()
        for reader, read in self._graph.readers(step):
            edge = edge_of(read)
            if reader.stage != self._stage:
                self._leaving[edge] = watermark, idle
                self.lowest.say(edge, watermark, idle=idle)
                self._by_reader[reader.stage].say(edge, watermark, idle=idle)
            elif (reader.name, edge) not in told:
                told.add((reader.name, edge))
                yield from self.advance(reader.name, edge, watermark, idle=idle)

    def fetch(self) -> Iterable[tuple[Edge, tuple[int, bool]]]:
        """What is new for other stages, once; to be sent behind the rows that were made before."""
        leaving, self._leaving = self._leaving, {}
        return leaving.items()


def _follows(step: Step) -> bool:
    return step.timed and not isinstance(step.op, EventTimeOp)
