"""The tables of hash joins: each task reads them as a whole before its first record."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from heronpy.pipeline.graph import HashJoinOp
from heronpy.planner.planning import PlannedStage
from heronpy.stages.calls import Calls
from heronpy.stages.in_process import InProcessRun


def tables_of(stage: PlannedStage) -> Mapping[str, Sequence[Any]]:
    """The rows of each hash join's table, by step."""
    tables: dict[str, Sequence[Any]] = {}
    for step in stage.steps:
        if isinstance(step.op, HashJoinOp) and step.op.table is not None:
            with contextlib.ExitStack() as held:
                run = InProcessRun(step.op.table, held, held.enter_context(Calls()))
                run.run()
                tables[step.name] = run.table
    return tables
