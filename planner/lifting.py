"""Combiner lifting: an aggregate begins in the stage that makes its records, and ends behind the exchange."""

from __future__ import annotations

import dataclasses

from heronpy.pipeline.graph import (
    LATE,
    AggregateOp,
    FinalOp,
    Graph,
    PartialOp,
    Step,
    StepInput,
    WindowOp,
)
from heronpy.pipeline.triggers import AtWatermark, counts_records
from heronpy.pipeline.windows import AlignedWindows, EverythingWindow, WindowsOfResults


def lifted(graph: Graph) -> Graph:
    """One accumulator per key and task crosses the network, instead of every record."""

    def change(step: Step) -> list[Step]:
        match step.op:
            case AggregateOp(aggregate=aggregate, keyed=keyed) if aggregate.combine is not None:
                return _in_two(step, PartialOp(aggregate, keyed, of=step.name), FinalOp(aggregate, keyed))
            case WindowOp() as op if _lifts(op) and not step.retracted and not _late_is_read(graph, step):
                partial = PartialOp(op.aggregate, op.keyed, of=step.name, window=op)
                return _in_two(step, partial, dataclasses.replace(op, final=True))
        return [step]

    return graph.changed(change)


def _in_two(step: Step, first: PartialOp, second: FinalOp | WindowOp) -> list[Step]:
    partials = [
        dataclasses.replace(
            step,
            name=f"{step.name}¹{number if number > 1 else ''}",
            op=first,
            inputs=(read,),
            par=None,
            retracting="",
        )
        for number, read in enumerate(step.inputs, 1)
    ]
    inputs = tuple(StepInput(partial.name) for partial in partials)
    return [*partials, dataclasses.replace(step, op=second, inputs=inputs)]


def _lifts(op: WindowOp) -> bool:
    """Whether accumulators can take the place of records: not where windows must see each of them.

    Windows that overlap share slices with the default trigger only; with others each has a copy.
    """
    if op.aggregate.combine is None or op.sides or counts_records(op.trigger):
        return False
    match op.windows:
        case AlignedWindows(size=size, every=every):
            return every == size or op.trigger == AtWatermark()
    return isinstance(op.windows, EverythingWindow | WindowsOfResults)


def _late_is_read(graph: Graph, step: Step) -> bool:
    return any(read.output == LATE for _, read in graph.readers(step.name))
