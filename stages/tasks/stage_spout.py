"""A stage that reads a source: polls its splits, runs its steps, keeps the position of each split."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from heronpy.connectors import Reader
from heronpy.kernel.formats import HANDLE
from heronpy.operators.failing import blamed_on
from heronpy.operators.flowing import Out
from heronpy.pipeline.graph import ReadOp
from heronpy.spout import Spout
from heronpy.stages.calls import Calls
from heronpy.stages.found_pipeline import pipeline_called, submitted_stage
from heronpy.stages.pipeline_keys import PIPELINE, STAGE
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
        found = pipeline_called(config[PIPELINE])
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
        self._hears_commits = type(self._reader).committed is not Reader.committed
        self._assign()

    @property
    def _owned(self) -> tuple[str, ...]:
        """The splits of this task: the engine puts them in the place of the class's method."""
        owned: tuple[str, ...] = vars(self)["splits"]
        return owned

    def _assign(self) -> None:
        self._assigned = self._owned
        #: splits that have not ended
        self._left = set(self._assigned)
        with blamed_on(self._step):
            self._reader.assign(self._positions())

    def _positions(self) -> dict[str, Any]:
        return {split: self.state.get(split) for split in self._owned}

    def next_tuple(self) -> None:
        if not self._left:
            self._logic.end()
            self.finish()
            return
        with blamed_on(self._step):
            chunk = self._reader.poll(BATCH)
        if chunk is None:
            return
        if chunk.records or chunk.ended:
            self.delegate.moved = True  # its steps may keep or drop all records
        if chunk.records:
            self._logic.take(self._step.name, 0, chunk.records)
        self.state[chunk.split] = chunk.position
        if chunk.ended:
            self._left.discard(chunk.split)
        if not self._holds:
            self._logic.flush()

    def _leaving(self, stream: EdgeStream) -> Out:
        def wrapped(rows: Sequence[Any]) -> None:
            self.emit_many(zip(rows, strict=True), stream=stream.name)

        def plain(rows: Sequence[Any]) -> None:
            self.emit_many(rows, stream=stream.name)

        return wrapped if stream.wraps else plain

    def on_plan_change(self, context: TopologyContext) -> None:  # noqa: ARG002 - the splits are here already
        if self._owned != self._assigned:
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
