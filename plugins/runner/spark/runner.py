"""The runner `spark`: `heronpy run FILE --runner spark --set scheduler.spark.master=…`."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from heronpy.kernel.config import Config
from heronpy.kernel.errors import UserError
from heronpy.kernel.plans import Source
from heronpy.kernel.plugin import Runner, RunTotals
from heronpy.pipeline.graph import Graph, HashJoinOp, ReadOp
from heronpy.plugins.runner.spark import refusals, shipping
from heronpy.plugins.runner.spark.commits import Commits
from heronpy.plugins.runner.spark.interruptible import waited_for
from heronpy.plugins.runner.spark.layout import chains
from heronpy.plugins.runner.spark.session import OpenSession
from heronpy.plugins.runner.spark.settings import JobSettings
from heronpy.plugins.runner.spark.shipped_plan import ShippedPlan
from heronpy.plugins.runner.spark.worker.carrier import Places
from heronpy.plugins.runner.spark.worker.reports import Report, totals_of
from heronpy.stages.calls import Calls
from heronpy.stages.in_process import InProcessRun


class SparkRunner(Runner):
    """A bounded pipeline as a Spark job. Results are visible when the job has succeeded, and not before.

    Spark may run a task again, or twice at the same time; each result is still there once.
    """

    note = "as a Spark job"

    def __init__(self) -> None:
        #: opened by the first pipeline, for all
        self.session: OpenSession | None = None
        #: the archive of code, once it is shipped
        self._code = ""

    def initialize(self, config: Config) -> None:
        self._config = config
        self._settings = JobSettings.of(config)
        self.note = f"as a Spark job at {self._settings.place}"  # type: ignore[misc]

    def check(self, plan: Graph) -> None:
        refusals.check(plan)
        if self.session is None:
            self._settings.check()

    def run(self, plan: Graph, source: Source) -> RunTotals:
        with contextlib.ExitStack() as held:
            run = secrets.token_hex(8)
            commits = Commits(plan, run, held)
            try:
                tables, before = _tables(plan)
                reports = self._reports(plan, run, tables, source)
                commits.commit(reports)
            except BaseException:
                self.close()  # a task that still runs would stage more
                commits.abort()
                raise
        return totals_of(reports, before)

    def close(self) -> None:
        session, self.session, self._code = self.session, None, ""
        if session is not None:
            session.close()

    def _reports(
        self, plan: Graph, run: str, tables: Mapping[str, Sequence[Any]], source: Source
    ) -> list[Report]:
        from heronpy.plugins.runner.spark.errors import failure_of
        from heronpy.plugins.runner.spark.job import Job

        splits = {
            step.name: tuple(step.op.source.splits()) for step in plan.steps if isinstance(step.op, ReadOp)
        }
        if self.session is None:
            self.session = OpenSession(self._settings, plan.name)
        session = self.session
        try:
            layout = chains(plan, waited_for(lambda: session.slots), splits)
            shipped = ShippedPlan(plan, layout, splits, tables, run)
            places = self._ship(session, shipped.dumps(), source)
            return waited_for(Job(session.spark, layout, places).run)
        except UserError:
            raise
        except Exception as error:
            raise failure_of(error) from None

    def _ship(self, session: OpenSession, plan: bytes, source: Source) -> Places:
        file = session.folder / f"heronpy-plan-{secrets.token_hex(8)}"
        file.write_bytes(plan)
        session.spark.addArtifacts(str(file), file=True)
        if self._settings.local:
            return Places("", source.paths, (), file.name)
        if not self._code:
            archive = shipping.write_code(Path(session.folder), self._config, source)
            session.spark.addArtifacts(str(archive), archive=True)
            self._code = archive.name
        return Places(self._code, *shipping.folders(source), file.name)


def _tables(plan: Graph) -> tuple[dict[str, Sequence[Any]], list[RunTotals]]:
    """The tables of hash joins, read in this process: each worker gets all of their rows."""
    tables: dict[str, Sequence[Any]] = {}
    totals = []
    for step in plan.steps:
        if isinstance(step.op, HashJoinOp) and step.op.table is not None:
            with contextlib.ExitStack() as held:
                run = InProcessRun(step.op.table, held, held.enter_context(Calls()))
                run.run()
                tables[step.name] = run.table
                totals.append(run.totals())
    return tables, totals
