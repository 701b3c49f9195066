"""Exchanges: how records get from the tasks of one stage to those of another."""

from __future__ import annotations

import dataclasses

from heronpy.pipeline.graph import AggregateOp, Exchange, FinalOp, Graph, Step, StepInput, WindowOp


def exchanged(graph: Graph) -> Graph:
    """None inside a stage; by key to where the key lives; to one task what is one value in the end."""
    stage_of = {step.name: step.stage for step in graph.steps}

    def exchange(step: Step, read: StepInput) -> Exchange:
        if stage_of[read.step] == step.stage:
            return "none"
        if isinstance(step.op, FinalOp | AggregateOp | WindowOp):
            return "fields(key)" if step.op.keyed else "lowest"
        if read.key is not None:
            return "fields(key)"
        return "shuffle" if read.rebalanced else "local or shuffle"

    def change(step: Step) -> list[Step]:
        inputs = tuple(dataclasses.replace(i, exchange=exchange(step, i)) for i in step.inputs)
        return [dataclasses.replace(step, inputs=inputs)]

    return graph.changed(change)
