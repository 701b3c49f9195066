"""A stage behind an exchange: rows of other stages through its steps, with state by key."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from heronpy.bolt import Bolt
from heronpy.kernel.plans import StateShape
from heronpy.operators.flowing import Out
from heronpy.operators.stage_logic import StageLogic
from heronpy.stages.calls import Calls
from heronpy.stages.found_pipeline import submitted_stage
from heronpy.stages.stage_streams import EdgeStream
from heronpy.stages.state_evolution import brought_up_to_date, shapes_of
from heronpy.stages.tasks.stage_inputs import StageInputs
from heronpy.stages.tasks.stage_task import check_saveable, logic_of
from heronpy.state import StatefulComponent
from heronpy.tuple import Tuple

if TYPE_CHECKING:
    from heronpy.context import TopologyContext


class StageBolt(StatefulComponent, Bolt):
    """A stage that reads others. `self.state` has what its steps keep, which belongs to no key."""

    #: a task needs the user's file, where the functions of the steps are
    runs_steps = True

    @classmethod
    def shapes(cls, config: Mapping[str, Any]) -> dict[str, StateShape]:
        """Step → what it keeps, for checkpoints."""
        return shapes_of(submitted_stage(config)[1])

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        found, stage = submitted_stage(config)
        self._stage = stage
        brought_up_to_date(self.state, stage)
        self._held = contextlib.ExitStack()
        calls = self._held.enter_context(Calls())
        self._logic = logic_of(found.plan, stage, self.state, self._leaving, calls, context)
        self._inputs = StageInputs(found.plan, stage)
        #: what partial aggregates hold is restored by processing again, where there are checkpoints
        self._holds = context.plan.logical.reliability == "effectively_once"

    def process_batch(self, tuples: list[Tuple]) -> None:
        """Rows of one stream, in their order."""
        rows, readers = self._inputs.rows(tuples)
        for step, slot in readers:
            self._logic.take(step, slot, rows)
        if not self._holds:
            self._logic.flush()

    def _leaving(self, stream: EdgeStream) -> Out:
        tuples = stream.tuples_of()
        return lambda rows: self.emit_many(tuples(rows), stream.name)

    @property
    def logic(self) -> StageLogic:
        """Its steps, for a test that looks at them."""
        return self._logic

    def end_of_input(self) -> None:
        self._logic.end()

    def on_plan_change(self, context: TopologyContext) -> None:  # noqa: ARG002 - the state is here already
        brought_up_to_date(
            self.state, self._stage
        )  # keys that are new here may have been saved by older code

    def pre_save(self, checkpoint_id: str) -> None:  # noqa: ARG002 - all snapshots are alike
        self._logic.flush()
        check_saveable(self._logic, self._stage)

    def drain(self) -> None:
        self._logic.flush()

    def close(self) -> None:
        self._held.close()


class KeyedStageBolt(StageBolt):
    """A stage behind an exchange by key: its state is by that key."""

    keyed = True
