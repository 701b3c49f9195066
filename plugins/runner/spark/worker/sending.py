"""Rows that leave a chain: collected for each task that reads them, and made into Spark's rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from heronpy.kernel.flow.keys import key_group
from heronpy.kernel.plans.logical import DEFAULT_KEY_GROUPS
from heronpy.operators.failing import Failing
from heronpy.operators.flowing import Out
from heronpy.operators.stage_edges import edge_of
from heronpy.pipeline.graph import EdgeKey, Graph, Step
from heronpy.plugins.runner.spark.layout import Exchange
from heronpy.plugins.runner.spark.worker.reports import Report
from heronpy.plugins.runner.spark.worker.rows import FOR_DRIVER, RecordPickler, SparkRow


class Sending:
    """The rows of one exchange."""

    def __init__(self, exchange: Exchange, plan: Graph, task: int, out: Callable[[SparkRow], None]) -> None:
        self.exchange, self._out = exchange, out
        self._pickler = RecordPickler()
        self._boxes: list[list[Any]] = [[] for _ in range(exchange.tasks)]
        #: the next box of rows that are dealt out: tasks begin with different ones
        self._turn = task % exchange.tasks
        self._failing = Failing(_keyed_by(plan, exchange))
        by_key = exchange.routing == "key" and exchange.tasks > 1
        #: takes rows
        self.send: Out = self._by_key if by_key else self._dealt

    def flush(self) -> None:
        for task, box in enumerate(self._boxes):
            if box:
                self._seal(task)

    def _by_key(self, rows: Sequence[Any]) -> None:
        boxes, tasks = self._boxes, self.exchange.tasks
        for row in rows:
            try:
                boxes[key_group(row[0], DEFAULT_KEY_GROUPS) % tasks].append(row)
            except TypeError as error:
                raise self._failing.for_key(error, row[0]) from error
        for task, box in enumerate(boxes):
            if len(box) >= self._pickler.at_once:
                self._seal(task)

    def _dealt(self, rows: Sequence[Any]) -> None:
        tasks = self.exchange.tasks
        for number in range(tasks):
            task = (self._turn + number) % tasks
            self._boxes[task] += rows[number::tasks]
            if len(self._boxes[task]) >= self._pickler.at_once:
                self._seal(task)
        self._turn = (self._turn + len(rows)) % tasks

    def _seal(self, task: int) -> None:
        box, self._boxes[task] = self._boxes[task], []
        while box:
            some, box = box[: self._pickler.at_once], box[self._pickler.at_once :]
            self._out(SparkRow(self.exchange.tag, task, self._pickler.dumps(some, len(some))))


class ToDriver:
    """Reports, and the records of sinks that are the driver's."""

    def __init__(self, out: Callable[[SparkRow], None]) -> None:
        self._out = out
        self._boxes: dict[str, list[Any]] = {}
        self._pickler = RecordPickler()

    def send(self, report: Report) -> None:
        self._out(SparkRow(FOR_DRIVER, 0, self._pickler.dumps(report, 1)))

    def records_of(self, step: str) -> Out:
        """Takes the records of a sink."""
        box = self._boxes.setdefault(step, [])
        pickler = RecordPickler()

        def take(records: Sequence[Any]) -> None:
            box.extend(records)
            if len(box) >= pickler.at_once:
                self._seal(step, pickler)

        return take

    def flush(self) -> None:
        for step in self._boxes:
            self._seal(step, self._pickler)

    def _seal(self, step: str, pickler: RecordPickler) -> None:
        box = self._boxes[step]
        if box:
            self._out(SparkRow(FOR_DRIVER, 0, pickler.dumps(Report(step=step, records=box[:]), len(box))))
            box.clear()


def _keyed_by(plan: Graph, exchange: Exchange) -> Step | EdgeKey:
    """What is at fault for a key that cannot be one: the step that made the keys."""
    step = plan[exchange.readers[0][0]]
    for read in step.inputs:
        if edge_of(read) == exchange.edge and read.key is not None:
            return read.key
    return step
