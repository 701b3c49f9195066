"""The sinks of a job on the driver: nothing is visible before the whole job has succeeded, then all is."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from heronpy.connectors import Writer
from heronpy.operators.failing import StepFailed
from heronpy.pipeline.graph import Graph, Step, WriteOp
from heronpy.plugins.runner.spark.worker.reports import Report, owner_of


class Commits:
    """A writer for each sink, which commits what tasks have staged and discards what is left of others."""

    def __init__(self, plan: Graph, held: contextlib.ExitStack) -> None:
        self._writers: dict[str, tuple[Step, Writer[Any]]] = {}
        for step in plan.steps:
            if isinstance(step.op, WriteOp):
                with _blamed_on(step):
                    writer = held.enter_context(contextlib.closing(step.op.sink.open(owner_of(plan, step))))
                    writer.recover(())
                self._writers[step.name] = step, writer

    def commit(self, reports: Iterable[Report]) -> None:
        """Make visible what the tasks that counted have staged or sent; of attempts that did not, nothing."""
        for report in reports:
            if report.step:
                step, writer = self._writers[report.step]
                with _blamed_on(step):
                    if report.handle:
                        writer.commit(report.handle)
                    writer.write(report.records)
        for step, writer in self._writers.values():
            with _blamed_on(step):
                if handle := writer.prepare(1):
                    writer.commit(handle)
        self.abort()

    def abort(self) -> None:
        """Discard what is staged."""
        for _, writer in self._writers.values():
            writer.abort()


@contextlib.contextmanager
def _blamed_on(step: Step) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise StepFailed(step.name, step.site, error) from error
