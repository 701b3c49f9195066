"""What a pipeline needs: it writes something, and steps that no write depends on are left out."""

from __future__ import annotations

import dataclasses

from heronpy.kernel.errors import UserError
from heronpy.pipeline.graph import ENDS, Graph


def checked(graph: Graph) -> Graph:
    """The graph itself, if there is something to run."""
    if not any(isinstance(step.op, ENDS) for step in graph.steps):
        msg = f"the pipeline {graph.name!r} writes nothing"
        raise UserError(msg, hint="stream.write(sinks.printed())")
    return graph


def read_only(graph: Graph) -> Graph:
    """Without the steps that nothing reads; they are named in `unread`."""
    needed: set[str] = set()
    for step in reversed(graph.steps):
        if step.name in needed or isinstance(step.op, ENDS):
            needed |= {step.name, *(read.step for read in step.inputs)}
    unread = tuple(step.name for step in graph.steps if step.name not in needed)
    kept = tuple(step for step in graph.steps if step.name in needed)
    return dataclasses.replace(graph, steps=kept, unread=unread)
