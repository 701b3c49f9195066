"""A stage that ends a branch: records into a sink, in a transaction for each checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heronpy.operators.failing import blamed_on
from heronpy.pipeline.graph import WriteOp
from heronpy.sinks.staging import StagingSink
from heronpy.stages.found_pipeline import submitted_stage
from heronpy.stages.pipeline_keys import PRINTS
from heronpy.stages.printing import BlockPrinter
from heronpy.stages.tasks.stage_inputs import StageInputs
from heronpy.tuple import Tuple

if TYPE_CHECKING:
    from heronpy.context import TopologyContext


class StageSink(StagingSink):
    """Writes through the sink's own writer."""

    #: a task needs the user's file, where the sink is made
    runs_steps = True

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:  # noqa: ARG002 - the owner says which task it is
        found, stage = submitted_stage(config)
        self._step = stage.steps[0]
        op = self._step.op
        assert isinstance(op, WriteOp)
        self._inputs = StageInputs(found.plan, stage)
        with blamed_on(self._step):
            self.use_writer(BlockPrinter() if config.get(PRINTS) else op.sink.open(self.owner))

    def process_batch(self, tuples: list[Tuple]) -> None:
        """Records of one stream, in their order."""
        rows, readers = self._inputs.rows(tuples)
        with blamed_on(self._step):
            for _ in readers:  # a stream that was merged with itself is read twice
                self.writer.write(rows)

    def prepare(self, checkpoint: int) -> bytes:
        with blamed_on(self._step):
            return super().prepare(checkpoint)

    def commit(self, handle: bytes) -> None:
        with blamed_on(self._step):
            super().commit(handle)
