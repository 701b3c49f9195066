"""A plan run by several tasks per stage, over nothing but operators: what every runner has to do."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from heronpy.kernel.flow.keys import key_group
from heronpy.operators.stage_edges import Edge, edge_of
from heronpy.operators.stage_logic import StageLogic
from heronpy.pipeline.graph import Exchange, ReadOp, Step, WriteOp
from heronpy.pipeline.pipeline import Pipeline
from heronpy.planner.planning import planned, stages


def made_by_tasks(p: Pipeline, values: Sequence[Any], tasks: int, seed: int) -> list[Any]:
    """What a pipeline with one source and no tables writes, if each stage has so many tasks."""
    crew = _Crew(p, tasks, random.Random(seed))
    crew.run(values)
    return crew.written


class _Crew:
    """Tasks of all stages; rows are dealt out at random where the exchange allows it."""

    def __init__(self, p: Pipeline, tasks: int, chance: random.Random) -> None:
        self._plan, self._tasks, self._chance = planned(p.graph()), tasks, chance
        self.written: list[Any] = []
        ends = {s.name: self.written.extend for s in self._plan.steps if isinstance(s.op, WriteOp)}
        self._crew = {
            stage.name: [StageLogic(self._plan, stage.name, ends=ends) for _ in range(tasks)]
            for stage in stages(self._plan)
        }

    def run(self, values: Sequence[Any]) -> None:
        for stage in stages(self._plan):  # each behind those that it reads
            first = stage.steps[0]
            if isinstance(first.op, ReadOp):
                self._deliver(first, 0, "shuffle", values)
            for task in self._crew[stage.name]:
                task.end()
                for edge, rows in task.fetch().items():
                    self._forward(edge, rows)

    def _forward(self, edge: Edge, rows: Sequence[Any]) -> None:
        for step in self._plan.steps:
            for read in step.inputs:
                if read.exchange != "none" and edge_of(read) == edge:
                    self._deliver(step, read.slot, read.exchange, rows)

    def _deliver(self, step: Step, slot: int, exchange: Exchange, rows: Sequence[Any]) -> None:
        dealt: list[list[Any]] = [[] for _ in range(self._tasks)]
        for row in rows:
            dealt[self._task(exchange, row)].append(row)
        for task, some in zip(self._crew[step.stage], dealt, strict=True):
            if some:
                task.take(step.name, slot, some)

    def _task(self, exchange: Exchange, row: Any) -> int:
        if exchange == "fields(key)":
            return key_group(row[0], 256) % self._tasks
        return 0 if exchange == "lowest" else self._chance.randrange(self._tasks)
