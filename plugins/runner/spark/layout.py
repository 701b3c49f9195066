"""Which stages run in one Spark task, and what goes from such a chain of stages to another. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from heronpy.operators.stage_edges import Edge, edge_of
from heronpy.pipeline.graph import Graph, ReadOp
from heronpy.planner.planning import PlannedStage, stages

#: how rows find the task of the chain that reads them: by key, all to one, or dealt out
Routing = Literal["key", "one", "deal"]


@dataclass(frozen=True)
class Exchange:
    """Rows of an edge on their way to the tasks of another chain. `tag` marks them in Spark's rows."""

    tag: int
    edge: Edge
    #: first stage of the chain that reads them, with the steps and sides
    to: str
    readers: tuple[tuple[str, int], ...]
    routing: Routing
    tasks: int


@dataclass(frozen=True)
class Chain:
    """Stages that run in the same tasks, each behind those that it reads."""

    stages: tuple[str, ...]
    tasks: int
    #: the step that reads a source, if it begins with one
    source: str
    sends: tuple[Exchange, ...] = ()

    @property
    def name(self) -> str:
        return self.stages[0]

    @property
    def readers(self) -> tuple[str, ...]:
        """The chains that it sends to. The first also passes on what is for the driver."""
        return tuple(dict.fromkeys(exchange.to for exchange in self.sends))


def chains(plan: Graph, cores: int, splits: Mapping[str, Sequence[str]]) -> tuple[Chain, ...]:
    """The chains of a plan, each behind those that it reads.

    A stage without keys, and without a number of tasks of its own, runs behind each stage that it reads, in
    the tasks of that stage: then records reach it without leaving the process.
    """
    found = stages(plan)
    followed = _following(found)
    heads = [stage for stage in found if stage.name not in followed]
    counts = {step: len(names) for step, names in splits.items()}
    tasks = {head.name: head.tasks(cores, counts) for head in heads}
    tags = iter(range(1_000_000))
    made = []
    for head in heads:
        members = _members(head, found, plan, followed)
        first = head.steps[0]
        made.append(
            Chain(
                members,
                tasks[head.name],
                first.name if isinstance(first.op, ReadOp) else "",
                tuple(_sends(plan, members, heads, tasks, tags)),
            )
        )
    return tuple(made)


def _following(found: Sequence[PlannedStage]) -> set[str]:
    """The stages that can run in the tasks of those that they read."""
    return {
        stage.name
        for stage in found
        if stage.inputs
        and all(read.exchange == "local or shuffle" for _, read in stage.inputs)
        and all(step.par is None for step in stage.steps)
    }


def _members(
    head: PlannedStage, found: Sequence[PlannedStage], plan: Graph, followed: set[str]
) -> tuple[str, ...]:
    members = [head.name]
    for stage in found:
        read = {plan[read.step].stage for _, read in stage.inputs}
        if stage.name in followed and read & set(members):
            members.append(stage.name)
    return tuple(members)


def _sends(
    plan: Graph,
    members: tuple[str, ...],
    heads: Sequence[PlannedStage],
    tasks: Mapping[str, int],
    tags: Iterator[int],
) -> Iterator[Exchange]:
    for head in heads:
        readers: dict[Edge, list[tuple[str, int]]] = {}
        routings: dict[Edge, Routing] = {}
        for step, read in head.inputs:
            if plan[read.step].stage in members:
                readers.setdefault(edge_of(read), []).append((step.name, read.slot))
                routings[edge_of(read)] = _routing(read.exchange)
        for edge, of_it in readers.items():
            yield Exchange(next(tags), edge, head.name, tuple(of_it), routings[edge], tasks[head.name])


def _routing(exchange: str) -> Routing:
    return "key" if exchange == "fields(key)" else "one" if exchange == "lowest" else "deal"
