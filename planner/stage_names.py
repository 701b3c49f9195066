"""Names of stages, which become names of components."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from heronpy.pipeline.graph import STATEFUL, Graph, PartialOp, ReadOp, Step


def named(graph: Graph) -> Graph:
    """A stage is called by its source, else by its first step with state, else by its last step.

    The last one counts to which the user gave a name, if there is one; a partial aggregate only where it is
    alone.
    """
    steps: dict[str, list[Step]] = {}
    for step in graph.steps:
        steps.setdefault(step.stage, []).append(step)
    names: dict[str, str] = {}
    for stage, of_it in steps.items():
        namesake = next((step for step in of_it if isinstance(step.op, (ReadOp, *STATEFUL))), _last(of_it))
        wanted = namesake.name.replace(":", ".").replace("¹", ".partial")
        name, number = wanted, 2
        while name in names.values():
            name, number = f"{wanted}-{number}", number + 1
        names[stage] = name
    return graph.changed(lambda step: [dataclasses.replace(step, stage=names[step.stage])])


def _last(steps: Sequence[Step]) -> Step:
    whole = [step for step in steps if not isinstance(step.op, PartialOp)] or steps
    return [*whole, *(step for step in whole if not step.derived)][-1]
