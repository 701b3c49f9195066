"""What the tasks of all stages have in common: the steps of the stage, put together for the engine."""

from __future__ import annotations

import itertools
import logging
import pickle
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from heronpy.kernel.errors import TopologyError, UserError
from heronpy.metrics import IMetric
from heronpy.operators.failing import Failing, StepFailed
from heronpy.operators.flowing import Out
from heronpy.operators.per_key import States
from heronpy.operators.stage_logic import StageLogic
from heronpy.operators.timed_processing import KeyCell
from heronpy.pipeline.graph import Graph, ProcessOp, Step, WindowOp
from heronpy.planner.planning import PlannedStage
from heronpy.stages.late_lines import LateLines
from heronpy.stages.pipeline_keys import FAILED, LATE_DROPPED
from heronpy.stages.stage_streams import EdgeStream, streams_of
from heronpy.stages.tasks.step_state import StepState, shares_cells
from heronpy.stages.tasks.tables import tables_of

if TYPE_CHECKING:
    from heronpy.context import TopologyContext
    from heronpy.stages.calls import Calls

log = logging.getLogger(__name__)

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
    shared = shares_cells(stage)

    def state_of(step: Step) -> States:
        return StepState(state, step.name) if shared else state

    logic = StageLogic(
        plan,
        stage.name,
        tables=tables_of(stage),
        awaiting=calls.step,
        leaving=lambda edge: _sent(leaving(streams[edge]), Failing(plan[edge.step])),
        state_of=state_of,
    )
    if any(step.on_error != "fail" for step in stage.steps):
        context.register_metric(FAILED, _FailedRecords(logic), REPORT)
    if any(isinstance(step.op, WindowOp) for step in stage.steps):
        context.register_metric(LATE_DROPPED, _LateRecords(logic), REPORT)
    return logic


def _sent(out: Out, failing: Failing) -> Out:
    """Rows that cannot be sent are the fault of the step that made them."""

    def run(rows: Sequence[Any]) -> None:
        try:
            out(rows)
        except TopologyError as error:
            raise StepFailed(failing.name, failing.site, error) from None

    return run


def check_saveable(logic: StageLogic, stage: PlannedStage) -> None:
    """Before a snapshot: whether one state of each step can be saved, as the user's classes may forbid."""
    for step in stage.stateful:
        for state in itertools.islice(logic.keepers[step.name].states.values(), 1):
            if isinstance(step.op, ProcessOp):
                _check_pickles(state.state if isinstance(state, KeyCell) else state, step)


def _check_pickles(state: object, step: Step) -> None:
    try:
        pickle.dumps(state, protocol=5)
    except (pickle.PicklingError, AttributeError, TypeError):
        import cloudpickle  # type: ignore[import-untyped]  # dear, and rarely needed

        try:
            cloudpickle.dumps(state, protocol=5)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            msg = f"its state of class {type(state).__qualname__} cannot be saved: {error}"
            raise StepFailed(step.name, step.site, UserError(msg)) from None


class _FailedRecords(IMetric):
    """Records that were skipped or set aside, by step, since the task was started."""

    def __init__(self, logic: StageLogic) -> None:
        self._logic = logic

    def get_value_and_reset(self) -> dict[str, int]:
        return self._logic.failed


class _LateRecords(IMetric):
    """Records that came too late for their windows, by step, since the task was started."""

    def __init__(self, logic: StageLogic) -> None:
        self._logic = logic
        self._lines = LateLines([logic], log)

    def get_value_and_reset(self) -> dict[str, int]:
        self._lines.look()
        return self._logic.late_dropped
