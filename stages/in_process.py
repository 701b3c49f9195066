"""A plan run in the calling process: by the runner `local`, and by tasks, for the table of a hash join."""

from __future__ import annotations

import contextlib
import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from heronpy.connectors import Chunk, Reader, Sink, Writer
from heronpy.kernel.plugin import RunTotals
from heronpy.operators.event_timing import ALL, LOOK
from heronpy.operators.failing import blamed_on
from heronpy.operators.stage_edges import Edge, edge_of
from heronpy.operators.stage_logic import StageLogic
from heronpy.pipeline.graph import Graph, HashJoinOp, ProcessOp, ReadOp, Step, TableOp, WriteOp
from heronpy.planner.planning import PlannedStage, stages
from heronpy.stages.calls import Calls
from heronpy.stages.late_lines import LateLines

log = logging.getLogger(__name__)

#: records that a source is asked for at once
BATCH = 4096
#: how often sinks make visible what they have, in seconds
COMMIT_EVERY = 1.0
#: how long sources that have nothing now are left alone, in seconds
IDLE = 0.01


class InProcessRun:
    """One run of a plan: rows go from stage to stage as soon as they are made, without frames."""

    def __init__(self, plan: Graph, held: contextlib.ExitStack, calls: Calls) -> None:
        self._plan, self._held, self._calls = plan, held, calls
        self._writers: list[tuple[Step, Writer[Any]]] = []
        self._read: Counter[str] = Counter()
        self._written: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()
        #: what windows of tables dropped, in words
        self._late: list[str] = []
        #: the rows of a plan that makes a table
        self.table: list[Any] = []
        tables = {
            step.name: self._rows_of(step.op.table)
            for step in plan.steps
            if isinstance(step.op, HashJoinOp) and step.op.table is not None
        }
        ends = {step.name: end for step in plan.steps if (end := self._end_of(step)) is not None}
        self._stages = stages(plan)
        self._has_time = any(
            step.timed or (isinstance(step.op, ProcessOp) and step.op.on_timer) for step in plan.steps
        )
        self._logic = {
            stage.name: StageLogic(plan, stage.name, tables=tables, ends=ends, awaiting=calls.step)
            for stage in self._stages
        }
        self._looked = 0
        self._late_lines = LateLines(self._logic.values(), log)
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
            self._clock()
            for _ in range(len(sources)):
                source = sources.popleft()
                moved = self._turn(source) or moved
                if source.splits:
                    sources.append(source)
                else:
                    self._end(source.step.stage)
            if time.monotonic() >= due:
                self._commit()
                self._late_lines.look()
                due = time.monotonic() + COMMIT_EVERY
            if not moved:
                time.sleep(IDLE)
        self._commit()

    def totals(self) -> RunTotals:
        """What was done so far, with what was done for tables."""
        failed, late = self._failed.copy(), self._late.copy()
        for logic in self._logic.values():
            failed.update(logic.failed)
            late += logic.late.values()
        return RunTotals(dict(self._read), dict(self._written), dict(failed), tuple(late))

    def _rows_of(self, table: Graph) -> Sequence[Any]:
        with contextlib.ExitStack() as held:
            run = InProcessRun(table, held, self._calls)
            run.run()
        totals = run.totals()
        self._read.update(totals.read)
        self._failed.update(totals.failed)
        self._late += totals.late
        return run.table

    def _end_of(self, step: Step) -> Callable[[Sequence[Any]], None] | None:
        if isinstance(step.op, TableOp):
            return self.table.extend
        if not isinstance(step.op, WriteOp):
            return None
        with blamed_on(step):
            writer = self._held.enter_context(_opened(step.op.sink, f"{self._plan.name}-{step.stage}-0"))
        self._writers.append((step, writer))
        self._written[step.name] = 0

        def write(records: Sequence[Any]) -> None:
            with blamed_on(step):
                writer.write(records)
            self._written[step.name] += len(records)

        return write

    def _open(self, stage: PlannedStage) -> _OpenSource:
        step = stage.steps[0]
        assert isinstance(step.op, ReadOp)
        self._read[step.name] += 0
        with blamed_on(step):
            reader = self._held.enter_context(contextlib.closing(step.op.source.open()))
            splits = step.op.source.splits()
            reader.assign(dict.fromkeys(splits))
        self._logic[stage.name].read(splits)
        return _OpenSource(step, reader, set(splits))

    def _turn(self, source: _OpenSource) -> bool:
        """One chunk of a source; whether there was something to read."""
        logic, step = self._logic[source.step.stage], source.step
        chunk = source.poll()
        logic.nothing(source.silent)
        if chunk is None:
            source.leave_out(logic.waiting())
            return False
        logic.arrives(chunk.split, chunk.watermark, caught_up=chunk.caught_up)
        if chunk.records:
            self._read[step.name] += len(chunk.records)
            logic.take(step.name, 0, chunk.records)
        if chunk.ended:
            logic.over(chunk.split)
        self._forward(step.stage)
        self._tell(step.stage)
        source.leave_out(logic.waiting())
        return bool(chunk.records) or chunk.ended

    def _clock(self) -> None:
        """Tell the steps that go by processing time how late it is."""
        if not self._has_time:
            return
        now = time.time_ns() // 1000
        if abs(now - self._looked) < LOOK:  # each look is at all splits that have not ended
            return
        self._looked = now
        for stage in self._stages:
            logic = self._logic[stage.name]
            logic.clock(now)
            if stage.kind != "spout" and logic.gives_time:  # it has taken all that has come
                logic.nothing([ALL])
                logic.settle(ALL)
            self._forward(stage.name)
            self._tell(stage.name)

    def _tell(self, stage: str) -> None:
        """How far a stage has come in event time, to those behind it, when its rows have arrived."""
        waiting = deque([stage])
        while waiting:
            for edge, (watermark, idle) in self._logic[waiting.popleft()].fetch_watermarks():
                for reader, step, _ in self._readers_of[edge]:
                    self._logic[reader].advance(step, edge, watermark, idle=idle)
                    self._forward(reader)
                    waiting.append(reader)

    def _forward(self, stage: str) -> None:
        """Rows that left a stage, to their readers and on, until none is on its way."""
        waiting = deque(self._logic[stage].fetch().items())
        while waiting:
            edge, rows = waiting.popleft()
            for reader, step, slot in self._readers_of[edge]:
                logic = self._logic[reader]
                logic.arrives(ALL, None, caught_up=False)
                logic.take(step, slot, rows)
                waiting.extend(logic.fetch().items())

    def _end(self, stage: str) -> None:
        """A stage whose inputs have ended speaks its last, and so do those that waited for it alone."""
        self._logic[stage].end()
        self._forward(stage)
        self._tell(stage)
        for later, before in self._before.items():
            if stage in before:
                before.remove(stage)
                if not before:
                    self._end(later)

    def _commit(self) -> None:
        for step, writer in self._writers:
            with blamed_on(step):
                if handle := writer.prepare(1):
                    writer.commit(handle)


@contextlib.contextmanager
def _opened(sink: Sink[Any], owner: str) -> Iterator[Writer[Any]]:
    """A writer; of a run that fails or is interrupted, nothing stays but what was committed."""
    with contextlib.closing(sink.open(owner)) as writer:
        writer.recover(())
        try:
            yield writer
        except BaseException:
            writer.abort()
            raise


class _OpenSource:
    """A source that is being read."""

    def __init__(self, step: Step, reader: Reader[Any], splits: set[str]) -> None:
        self.step, self._reader = step, reader
        #: those that have not ended
        self.splits = splits
        self._positions: dict[str, Any] = dict.fromkeys(splits)
        #: those that are not read for now
        self._left_out: set[str] = set()
        #: those that had nothing when they were asked last
        self.silent: Collection[str] = ()

    def poll(self) -> Chunk[Any] | None:
        with blamed_on(self.step):
            chunk = self._reader.poll(BATCH)
            self.silent = self.splits - self._left_out if chunk is None else self._reader.silent()
        if chunk is not None:
            self._positions[chunk.split] = chunk.position
            if chunk.ended:
                self.splits.discard(chunk.split)
        return chunk

    def leave_out(self, splits: Collection[str]) -> None:
        """Read all but these from now on."""
        left_out = self.splits.intersection(splits)
        if left_out == self._left_out:
            return
        self._left_out = left_out
        with blamed_on(self.step):
            self._reader.assign({split: self._positions[split] for split in self.splits - self._left_out})
