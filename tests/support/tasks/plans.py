"""Small plans for tests of the data path: words (task 1) feeds count (tasks 2, 3, …) over one edge."""

from __future__ import annotations

from typing import Any

from heronpy.column_schema import Schema
from heronpy.kernel.plans import (
    Component,
    ContainerPlan,
    DeclaredGrouping,
    DeclaredStream,
    Input,
    InstancePlan,
    LogicalPlan,
    PackingPlan,
    PhysicalPlan,
    Resources,
    physical_plan,
)

SOURCE = 1
SINK = 2


def edge(kind: Any, *fields: str, stream: str = "default") -> Input:
    return Input("words", stream, DeclaredGrouping(kind, fields))


def plan_of(
    *edges: Input, par: int = 1, spouts: int = 1, containers: int = 2, schema: Schema | None = None
) -> PhysicalPlan:
    """Tasks are dealt to the containers in turn, beginning with container 1."""
    encoded = schema.encoded() if schema is not None else b""
    outputs = tuple(
        DeclaredStream(read.stream, ("word", "n"), read.grouping.kind == "direct", encoded) for read in edges
    )
    logical = LogicalPlan(
        "wordcount",
        (
            Component("words", "spout", "app.Words", spouts, outputs=outputs),
            Component("count", "bolt", "app.Count", par, inputs=edges),
        ),
    )
    names = [("words", index) for index in range(spouts)] + [("count", index) for index in range(par)]
    dealt: dict[int, list[InstancePlan]] = {number: [] for number in range(1, containers + 1)}
    for task, (name, index) in enumerate(names, 1):
        dealt[1 + (task - 1) % containers].append(InstancePlan(task, name, index))
    packed = tuple(ContainerPlan(number, tuple(those), Resources()) for number, those in dealt.items())
    return physical_plan(logical, PackingPlan("wordcount", "test", packed, len(names) + 1))
