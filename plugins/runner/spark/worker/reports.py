"""What tasks tell the driver: what they did, what they staged, and records for sinks of the driver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from heronpy.kernel.plugin import RunTotals
from heronpy.pipeline.graph import Graph, Step


@dataclass(frozen=True)
class Report:
    """One message of a task: totals at its end, or something of one sink."""

    read: dict[str, int] = field(default_factory=dict)
    written: dict[str, int] = field(default_factory=dict)
    failed: dict[str, int] = field(default_factory=dict)
    #: the step of the sink that `handle` or `records` are of
    step: str = ""
    handle: bytes = b""
    records: Sequence[Any] = ()


def owner_of(plan: Graph, step: Step, run: str) -> str:
    """Whose staged output it is: all tasks of a sink in this run, so that the driver can discard the rest."""
    return f"{plan.name}-{step.stage}-spark-{run}"


def totals_of(reports: Sequence[Report], before: Iterable[RunTotals] = ()) -> RunTotals:
    """The sum of reports, and of what was done before the job."""
    read: Counter[str] = Counter()
    written: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    done: list[Report | RunTotals] = [*before, *reports]
    for one in done:
        read.update(one.read)
        written.update(one.written)
        failed.update(one.failed)
    for report in reports:
        if report.records:
            written[report.step] += len(report.records)
    return RunTotals(dict(read), dict(written), dict(failed))
