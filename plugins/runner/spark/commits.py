"""The sinks of a job on the driver: nothing is visible before the whole job has succeeded, then all is."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from heronpy.connectors import Writer
from heronpy.operators.failing import StepFailed
from heronpy.pipeline.graph import Graph, Step, WriteOp
from heronpy.plugins.runner.spark.interruptible import uninterrupted
from heronpy.plugins.runner.spark.worker.reports import Report, owner_of


class Commits:
    """A writer for each sink, which commits what tasks have staged and discards what is left of others."""

    def __init__(self, plan: Graph, run: str, held: contextlib.ExitStack) -> None:
        self._writers: dict[str, tuple[Step, Writer[Any]]] = {}
        #: how many handles of each sink there are, and how many of them are committed
        self._staged: Counter[str] = Counter()
        self._committed: Counter[str] = Counter()
        for step in plan.steps:
            if isinstance(step.op, WriteOp):
                with self._blamed_on(step):
                    writer = step.op.sink.open(owner_of(plan, step, run))
                    held.enter_context(contextlib.closing(writer))
                    writer.recover(())
                self._writers[step.name] = step, writer

    def commit(self, reports: Sequence[Report]) -> None:
        """Make visible what the tasks that counted have staged or sent; of attempts that did not, nothing."""
        # sink after sink, so that an error between two of them leaves most sinks whole
        handles = sorted((each.step, each.handle) for each in reports if each.handle)
        self._staged.update(name for name, _ in handles)
        for name, handle in handles:
            step, writer = self._writers[name]
            with self._blamed_on(step):
                writer.verify(handle)
        with uninterrupted():
            for name, handle in handles:
                step, writer = self._writers[name]
                with self._blamed_on(step):
                    writer.commit(handle)
                self._committed[name] += 1
        self._write(reports)
        self.abort()

    def abort(self) -> None:
        """Discard what is staged."""
        for _, writer in self._writers.values():
            writer.abort()

    def _write(self, reports: Sequence[Report]) -> None:
        """The records of sinks that are the driver's."""
        for report in reports:
            if report.records:
                step, writer = self._writers[report.step]
                with self._blamed_on(step):
                    writer.write(report.records)
        for step, writer in self._writers.values():
            with self._blamed_on(step):
                if handle := writer.prepare(1):
                    writer.commit(handle)

    @contextlib.contextmanager
    def _blamed_on(self, step: Step) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            raise StepFailed(step.name, step.site, error, self._visible()) from error

    def _visible(self) -> str:
        """What stays of a run that fails while it commits."""
        counts = self._committed.items()
        parts = [f"{count} of {self._staged[name]} parts of {name!r}" for name, count in counts]
        return f"; committed before that: {', '.join(parts)}; the rest is discarded" if parts else ""
