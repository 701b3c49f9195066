"""The runner `local` with one worker: a pipeline in the calling process, without frames or checkpoints."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from heronpy.connectors import Reader, Writer
from heronpy.operators.stage_logic import Edge, StageLogic, edge_of
from heronpy.pipeline.graph import Graph, HashJoinOp, ReadOp, Step, TableOp, WriteOp
from heronpy.planner.planning import PlannedStage, planned, stages
from heronpy.plugins.runner.calls import Calls

#: records that a source is asked for at once
BATCH = 4096
#: how often sinks make visible what they have, in seconds
COMMIT_EVERY = 1.0
#: how long sources that have nothing now are left alone
IDLE = 0.01


def run_here(graph: Graph) -> None:
    """Run a pipeline until its input has ended. Results are visible each second and at the end."""
    plan = planned(graph)
    for step in _all_steps(plan):
        if isinstance(step.op, ReadOp):
            step.op.source.check()
        elif isinstance(step.op, WriteOp):
            step.op.sink.check()
    with contextlib.ExitStack() as held:
        LocalRun(plan, held, held.enter_context(Calls())).run()


def _all_steps(plan: Graph) -> Iterator[Step]:
    for step in plan.steps:
        yield step
        if isinstance(step.op, HashJoinOp) and step.op.table is not None:
            yield from _all_steps(step.op.table)


class LocalRun:
    """One run of a plan: rows go from stage to stage as soon as they are made."""

    def __init__(self, plan: Graph, held: contextlib.ExitStack, calls: Calls) -> None:
        self._plan, self._held, self._calls = plan, held, calls
        self._writers: list[Writer[Any]] = []
        #: the rows of a plan that makes a table
        self.table: list[Any] = []
        tables = {
            step.name: self._rows_of(step.op.table)
            for step in plan.steps
            if isinstance(step.op, HashJoinOp) and step.op.table is not None
        }
        ends = {step.name: end for step in plan.steps if (end := self._end_of(step)) is not None}
        self._stages = stages(plan)
        self._logic = {
            stage.name: StageLogic(plan, stage.name, tables=tables, ends=ends, awaiting=calls.step)
            for stage in self._stages
        }
        self._readers_of: dict[Edge, list[tuple[str, str, int]]] = {}
        #: stage → stages that it still gets rows from
        self._before: dict[str, set[str]] = {stage.name: set() for stage in self._stages}
        for stage in self._stages:
            for step, read in stage.inputs:
                self._readers_of.setdefault(edge_of(read), []).append((stage.name, step.name, read.slot))
                self._before[stage.name].add(plan[read.step].stage)

    def run(self) -> None:
        sources = deque(self._open(stage) for stage in self._stages if stage.kind == "spout")
        due = time.monotonic() + COMMIT_EVERY
        while sources:
            moved = False
            for _ in range(len(sources)):
                source = sources.popleft()
                moved = source.turn(self._feed) or moved
                if source.splits:
                    sources.append(source)
                else:
                    self._end(source.stage)
            if time.monotonic() >= due:
                self._commit()
                due = time.monotonic() + COMMIT_EVERY
            if not moved:
                time.sleep(IDLE)
        self._commit()

    def _rows_of(self, table: Graph) -> Sequence[Any]:
        run = LocalRun(table, self._held, self._calls)
        run.run()
        return run.table

    def _end_of(self, step: Step) -> Callable[[Sequence[Any]], None] | None:
        if isinstance(step.op, TableOp):
            return self.table.extend
        if not isinstance(step.op, WriteOp):
            return None
        writer = step.op.sink.open(f"{self._plan.name}/{step.stage}/0")
        self._held.callback(writer.close)
        writer.recover(())
        self._writers.append(writer)
        write: Callable[[Sequence[Any]], None] = writer.write
        return write

    def _open(self, stage: PlannedStage) -> _OpenSource:
        op = stage.steps[0].op
        assert isinstance(op, ReadOp)
        reader = op.source.open()
        self._held.callback(reader.close)
        splits = op.source.splits()
        reader.assign(dict.fromkeys(splits))
        return _OpenSource(stage.name, stage.steps[0].name, reader, set(splits))

    def _feed(self, stage: str, step: str, rows: Sequence[Any]) -> None:
        self._logic[stage].take(step, 0, rows)
        self._forward(stage)

    def _forward(self, stage: str) -> None:
        """Rows that left a stage, to their readers and on, until none is on its way."""
        waiting = deque(self._logic[stage].fetch().items())
        while waiting:
            edge, rows = waiting.popleft()
            for reader, step, slot in self._readers_of[edge]:
                self._logic[reader].take(step, slot, rows)
                waiting.extend(self._logic[reader].fetch().items())

    def _end(self, stage: str) -> None:
        """A stage whose inputs have ended speaks its last, and so do those that waited for it alone."""
        self._logic[stage].end()
        self._forward(stage)
        for later, before in self._before.items():
            if stage in before:
                before.remove(stage)
                if not before:
                    self._end(later)

    def _commit(self) -> None:
        for writer in self._writers:
            if handle := writer.prepare(1):
                writer.commit(handle)


class _OpenSource:
    """A source that is being read."""

    def __init__(self, stage: str, step: str, reader: Reader[Any], splits: set[str]) -> None:
        self.stage, self._step, self._reader = stage, step, reader
        #: those that have not ended
        self.splits = splits

    def turn(self, feed: Callable[[str, str, Sequence[Any]], None]) -> bool:
        """Whether there was something to read."""
        chunk = self._reader.poll(BATCH)
        if chunk is None:
            return False
        if chunk.records:
            feed(self.stage, self._step, chunk.records)
        if chunk.ended:
            self.splits.discard(chunk.split)
        return bool(chunk.records) or chunk.ended
