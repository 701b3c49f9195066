"""Keys onto edges: merge, key_by and rebalance become how a step reads others, and are no steps any more."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from heronpy.pipeline.graph import EdgeKey, Graph, KeyByOp, MergeOp, RebalanceOp, Step, StepInput


def keyed(graph: Graph) -> Graph:
    """The key function of an edge runs in the producer, so that its records can be routed."""

    def sources(read: StepInput) -> Iterator[StepInput]:
        step = graph[read.step]
        match step.op:
            case MergeOp():
                for one in step.inputs:
                    yield from sources(one)
            case KeyByOp(fn=fn):
                for one in sources(step.inputs[0]):
                    yield dataclasses.replace(one, key=EdgeKey(step.name, fn, step.site))
            case RebalanceOp():
                for one in sources(step.inputs[0]):
                    yield dataclasses.replace(one, rebalanced=True)
            case _:
                yield read

    def change(step: Step) -> list[Step]:
        if isinstance(step.op, MergeOp | KeyByOp | RebalanceOp):
            return []
        inputs = [dataclasses.replace(i, slot=read.slot) for read in step.inputs for i in sources(read)]
        return [dataclasses.replace(step, inputs=tuple(inputs))]

    return graph.changed(change)
