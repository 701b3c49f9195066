"""Combiner lifting: an aggregate begins in the stage that makes its records, and ends behind the exchange."""

from __future__ import annotations

import dataclasses

from heronpy.pipeline.graph import AggregateOp, FinalOp, Graph, PartialOp, Step, StepInput


def lifted(graph: Graph) -> Graph:
    """One accumulator per key and task crosses the network, instead of every record."""

    def change(step: Step) -> list[Step]:
        if not isinstance(step.op, AggregateOp) or step.op.aggregate.combine is None:
            return [step]
        aggregate, is_keyed = step.op.aggregate, step.op.keyed
        partials = [
            dataclasses.replace(
                step,
                name=f"{step.name}¹{number if number > 1 else ''}",
                op=PartialOp(aggregate, is_keyed, of=step.name),
                inputs=(read,),
                par=None,
            )
            for number, read in enumerate(step.inputs, 1)
        ]
        final = dataclasses.replace(
            step, op=FinalOp(aggregate, is_keyed), inputs=tuple(StepInput(p.name) for p in partials)
        )
        return [*partials, final]

    return graph.changed(change)
