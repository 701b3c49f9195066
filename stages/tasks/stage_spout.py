"""A stage that reads a source: polls its splits, runs its steps, keeps the position of each split."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import msgspec

from heronpy.connectors import Chunk, Reader
from heronpy.kernel.formats import HANDLE
from heronpy.operators.failing import blamed_on
from heronpy.operators.flowing import Out
from heronpy.operators.stage_logic import StageLogic
from heronpy.pipeline.graph import ReadOp
from heronpy.spout import Spout
from heronpy.stages.calls import Calls
from heronpy.stages.found_pipeline import pipeline_of, submitted_stage
from heronpy.stages.pipeline_keys import STAGE
from heronpy.stages.stage_streams import EdgeStream
from heronpy.stages.tasks.stage_task import logic_of
from heronpy.state import StatefulComponent
from heronpy.transactions import TransactionalSink

if TYPE_CHECKING:
    from heronpy.context import TopologyContext

#: records that a source is asked for at once: small, because a task serves its sockets between two calls
BATCH = 256


class _Positions(msgspec.Struct):
    positions: dict[str, Any]


class StageSpout(TransactionalSink, StatefulComponent, Spout):
    """The first stage of a branch. `self.state` has the position behind what each split has given.

    Its transactions tell the source which positions a complete checkpoint has.
    """

    #: a task needs the user's file, where the functions of the steps are
    runs_steps = True
    #: its state is by split
    keyed = True

    @classmethod
    def splits(cls, config: dict[str, Any]) -> list[str]:
        """Those of the source, as they were when the pipeline was submitted."""
        found = pipeline_of(config)
        return list(found.splits[found.stages[config[STAGE]].steps[0].name])

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        found, stage = submitted_stage(config)
        self._step = stage.steps[0]
        op = self._step.op
        assert isinstance(op, ReadOp)
        self._held = contextlib.ExitStack()
        calls = self._held.enter_context(Calls())
        self._logic = logic_of(found.plan, stage, {}, self._leaving, calls, context)
        #: what partial aggregates hold is restored by reading again, where there are checkpoints
        self._holds = context.plan.logical.reliability == "effectively_once"
        with blamed_on(self._step):
            self._reader: Reader[Any] = self._held.enter_context(contextlib.closing(op.source.open()))
        #: a task that is new when the topology is scaled gets its state behind this
        self._has_read = False
        self._hears_commits = type(self._reader).committed is not Reader.committed
        self._assign()

    @property
    def _owned(self) -> tuple[str, ...]:
        """The splits of this task: the engine puts them in the place of the class's method."""
        owned: tuple[str, ...] = vars(self)["splits"]
        return owned

    @property
    def logic(self) -> StageLogic:
        """Its steps, for a test that looks at them."""
        return self._logic

    def _assign(self) -> None:
        self._assigned = self._owned
        #: splits that have not ended
        self._left = set(self._assigned)
        with blamed_on(self._step):
            self._reader.assign(self._positions())

    def _positions(self) -> dict[str, Any]:
        return {split: self.state.get(split) for split in self._owned}

    def next_tuple(self) -> None:
        self._has_read = True
        if not self._left:
            self._logic.end()
            self.finish()
            return
        with blamed_on(self._step):
            chunk = self._poll()
        if chunk is not None:
            self._take(chunk)

    def _poll(self) -> Chunk[Any] | None:
        return self._reader.poll(BATCH)

    def fd(self) -> int | None:
        return self._reader.fd()

    def _take(self, chunk: Chunk[Any]) -> None:
        if chunk.records or chunk.ended:
            self.delegate.moved = True  # its steps may keep or drop all records
        if chunk.records:
            self._logic.take(self._step.name, 0, chunk.records)
        self._note(chunk.split, chunk.position)
        if chunk.ended:
            self._left.discard(chunk.split)
        if not self._holds:
            self._logic.flush()

    def _note(self, split: str, position: Any) -> None:
        self.state[split] = position

    def _leaving(self, stream: EdgeStream) -> Out:
        tuples = stream.tuples_of()
        return lambda rows: self.emit_many(tuples(rows), stream=stream.name)

    def on_plan_change(self, context: TopologyContext) -> None:  # noqa: ARG002 - the splits are here already
        if self._owned != self._assigned or not self._has_read:
            self._assign()

    def pre_save(self, checkpoint_id: str) -> None:  # noqa: ARG002 - all snapshots are alike
        self._logic.flush()

    def drain(self) -> None:
        self._logic.flush()

    def begin(self) -> None:
        """Positions are kept all the time."""

    def prepare(self, checkpoint: int) -> bytes:  # noqa: ARG002 - all checkpoints are alike
        if not self._hears_commits:
            return b""
        return HANDLE.encode(_Positions(self._positions()))

    def commit(self, handle: bytes) -> None:
        self._reader.committed(HANDLE.decode(handle, _Positions, "the positions of a source").positions)

    def abort(self) -> None:
        """Nothing outside has changed before a commit."""

    def close(self) -> None:
        self._held.close()
