"""Tuples of other stages as rows, and the steps that read them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from heronpy.operators.stage_edges import edge_of
from heronpy.pipeline.graph import Graph
from heronpy.planner.planning import PlannedStage
from heronpy.stages.stage_streams import streams_of
from heronpy.tuple import Tuple

#: a step, and on which of its sides it reads
Reading = tuple[str, int]


class StageInputs:
    """The streams that a stage reads. The same rows may have several readers in it."""

    def __init__(self, plan: Graph, stage: PlannedStage) -> None:
        #: (component, stream) → what makes rows of its tuples' values, and the readers
        self._streams: dict[tuple[str, str], tuple[Callable[[list[Any]], list[Any]], list[Reading]]] = {}
        for step, read in stage.inputs:
            source = plan[read.step].stage
            stream = streams_of(plan, source)[edge_of(read)]
            _, readers = self._streams.setdefault((source, stream.name), (stream.rows_of(), []))
            readers.append((step.name, read.slot))

    def rows(self, tuples: list[Tuple]) -> tuple[Sequence[Any], list[Reading]]:
        """The rows of tuples of one stream, as they come in a frame, and who reads them."""
        first = tuples[0]
        rows_of, readers = self._streams[first.component, first.stream]
        return rows_of([tup.values for tup in tuples]), readers
