"""In a Python worker of Spark: the stages of a chain, over one partition, from its beginning to its end."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from heronpy.connectors import Writer
from heronpy.kernel.errors import UserError
from heronpy.operators.failing import StepFailed
from heronpy.operators.flowing import Out, to_all
from heronpy.operators.stage_edges import Edge, edge_of
from heronpy.operators.stage_logic import StageLogic
from heronpy.pipeline.graph import ReadOp, Step, WriteOp
from heronpy.planner.planning import stages
from heronpy.plugins.runner.spark.errors import marked
from heronpy.plugins.runner.spark.layout import Chain
from heronpy.plugins.runner.spark.shipped_plan import ShippedPlan, is_on_driver, load
from heronpy.plugins.runner.spark.worker.reports import Report, owner_of
from heronpy.plugins.runner.spark.worker.rows import FOR_DRIVER, SparkRow, from_arrow, opened, to_arrow
from heronpy.plugins.runner.spark.worker.sending import Sending, ToDriver
from heronpy.stages.calls import Calls
from heronpy.submissions import submissions

#: records that a source is asked for at once
BATCH = 4096
#: how long a source that has nothing now is left alone, in seconds
IDLE = 0.01


def run_chain(
    file: str, chain: int, task: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """What one task of a chain makes of its rows; an error of the user's is marked as such."""
    submissions.ignore()
    try:
        shipped = load(file)
        with contextlib.ExitStack() as held:
            run = ChainRun(shipped, shipped.chains[chain], task, held)
            for _ in run.turns(batches):
                if made := run.fetch():
                    yield to_arrow(made)
            if made := run.fetch():
                yield to_arrow(made)
    except UserError as error:
        raise marked(error) from None


class ChainRun:
    """One task: the logic of each stage, what they send, and the writers of their sinks."""

    def __init__(self, shipped: ShippedPlan, chain: Chain, task: int, held: contextlib.ExitStack) -> None:
        self._shipped, self._chain, self._held = shipped, chain, held
        self._rows: list[SparkRow] = []
        self._reports = ToDriver(self._rows.append)
        self._sendings = [Sending(each, shipped.plan, task, self._rows.append) for each in chain.sends]
        self._writers: list[tuple[Step, Writer[Any]]] = []
        self._read: Counter[str] = Counter()
        self._written: Counter[str] = Counter()
        calls = held.enter_context(Calls())
        ends = {step.name: self._end_of(step) for step in self._steps() if isinstance(step.op, WriteOp)}
        self._logic: dict[str, StageLogic] = {}
        for stage in reversed(chain.stages):  # a stage hands on to those behind it
            self._logic[stage] = StageLogic(
                shipped.plan,
                stage,
                tables=shipped.tables,
                ends=ends,
                awaiting=calls.step,
                leaving=lambda edge: self._leaving(edge),
            )

    def turns(self, batches: Iterable[pa.RecordBatch]) -> Iterator[None]:
        """Do all the work; rows can be fetched at each turn."""
        yield from self._read_source(batches) if self._chain.source else self._read_chains(batches)
        for stage in self._chain.stages:
            self._logic[stage].end()
        for sending in self._sendings:
            sending.flush()
        self._prepare()

    def fetch(self) -> list[SparkRow]:
        rows = self._rows[:]
        self._rows.clear()  # the list itself stays: what sends holds on to it
        return rows

    def _steps(self) -> Iterator[Step]:
        return (step for step in self._shipped.plan.steps if step.stage in self._chain.stages)

    def _read_source(self, batches: Iterable[pa.RecordBatch]) -> Iterator[None]:
        # not Spark's number of the partition, which is another where frames are put together
        [task] = [number for batch in batches for number in batch.column(0).to_pylist()]
        step = self._shipped.plan[self._chain.source]
        assert isinstance(step.op, ReadOp)
        left = set(self._shipped.splits[step.name][task :: self._chain.tasks])
        self._read[step.name] = 0
        with blamed_on(step):
            reader = self._held.enter_context(contextlib.closing(step.op.source.open()))
            reader.assign(dict.fromkeys(sorted(left)))
        while left:
            with blamed_on(step):
                chunk = reader.poll(BATCH)
            if chunk is None:
                time.sleep(IDLE)
                continue
            if chunk.records:
                self._read[step.name] += len(chunk.records)
                self._logic[step.stage].take(step.name, 0, chunk.records)
                yield
            if chunk.ended:
                left.discard(chunk.split)

    def _read_chains(self, batches: Iterable[pa.RecordBatch]) -> Iterator[None]:
        readers = {
            exchange.tag: exchange.readers
            for chain in self._shipped.chains
            for exchange in chain.sends
            if exchange.to == self._chain.name
        }
        logic = self._logic[self._chain.name]
        for row in from_arrow(batches):
            if row.tag == FOR_DRIVER:
                self._rows.append(SparkRow(FOR_DRIVER, 0, row.records))
            else:
                rows = opened(row.records)
                for step, slot in readers[row.tag]:
                    logic.take(step, slot, rows)
            yield

    def _leaving(self, edge: Edge) -> Out:
        """To the stages behind it in this chain, and to other chains."""
        plan, outs = self._shipped.plan, list[Out]()
        for stage in stages(plan):
            if stage.name in self._logic:
                for step, read in stage.inputs:
                    if edge_of(read) == edge:
                        outs.append(_taking(self._logic[stage.name], step.name, read.slot))
        outs += [sending.send for sending in self._sendings if sending.exchange.edge == edge]
        return to_all(outs)

    def _end_of(self, step: Step) -> Out:
        assert isinstance(step.op, WriteOp)
        self._written[step.name] = 0
        if is_on_driver(step.op.sink):
            return self._reports.records_of(step.name)
        with blamed_on(step):
            writer = step.op.sink.open(owner_of(self._shipped.plan, step, self._shipped.run))
            self._held.enter_context(contextlib.closing(writer))
        self._writers.append((step, writer))

        def write(records: Sequence[Any]) -> None:
            with blamed_on(step):
                writer.write(records)
            self._written[step.name] += len(records)

        return write

    def _prepare(self) -> None:
        """Staged durably, but committed by the driver alone: Spark may run a task more than once."""
        for step, writer in self._writers:
            with blamed_on(step):
                if handle := writer.prepare(1):
                    self._reports.send(Report(step=step.name, handle=handle))
        failed: Counter[str] = Counter()
        for logic in self._logic.values():
            failed.update(logic.failed)
        self._reports.send(Report(read=dict(self._read), written=dict(self._written), failed=dict(failed)))
        self._reports.flush()


def _taking(logic: StageLogic, step: str, slot: int) -> Out:
    return lambda rows: logic.take(step, slot, rows)


@contextlib.contextmanager
def blamed_on(step: Step) -> Iterator[None]:
    """What a source or sink raises, with its step and the line that it was written on."""
    try:
        yield
    except Exception as error:
        raise StepFailed(step.name, step.site, error) from error
