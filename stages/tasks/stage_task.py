"""What the tasks of all stages have in common: the steps of the stage, put together for the engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from heronpy.metrics import IMetric
from heronpy.operators.flowing import Out
from heronpy.operators.per_key import States
from heronpy.operators.stage_logic import StageLogic
from heronpy.pipeline.graph import Graph, Step
from heronpy.planner.planning import PlannedStage
from heronpy.stages.pipeline_keys import FAILED
from heronpy.stages.stage_streams import EdgeStream, streams_of
from heronpy.stages.tasks.step_state import StepState
from heronpy.stages.tasks.tables import tables_of

if TYPE_CHECKING:
    from heronpy.context import TopologyContext
    from heronpy.stages.calls import Calls

#: seconds between two reports of records that failed
REPORT = 1.0


def logic_of(
    plan: Graph,
    stage: PlannedStage,
    state: States,
    leaving: Callable[[EdgeStream], Out],
    calls: Calls,
    context: TopologyContext,
) -> StageLogic:
    """The steps of a stage in one of its tasks, with the task's state; `leaving` emits to a stream."""
    streams = streams_of(plan, stage.name)
    shared = len(stage.stateful) > 1

    def state_of(step: Step) -> States:
        return StepState(state, step.name) if shared else state

    logic = StageLogic(
        plan,
        stage.name,
        tables=tables_of(stage),
        awaiting=calls.step,
        leaving=lambda edge: leaving(streams[edge]),
        state_of=state_of,
    )
    if any(step.on_error != "fail" for step in stage.steps):
        context.register_metric(FAILED, _FailedRecords(logic), REPORT)
    return logic


class _FailedRecords(IMetric):
    """Records that were skipped or set aside, by step, since the task was started."""

    def __init__(self, logic: StageLogic) -> None:
        self._logic = logic

    def get_value_and_reset(self) -> dict[str, int]:
        return self._logic.failed
