"""The runner `spark` without Spark: chains of stages, their rows, and what workers do with them."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from heronpy import Pipeline
from heronpy.kernel.errors import UserError
from heronpy.kernel.plugin import RunTotals, UnsupportedOnRunner
from heronpy.pipeline import sinks, sources
from heronpy.pipeline.graph import Graph, ReadOp
from heronpy.planner.planning import planned
from heronpy.plugins.runner.spark import refusals
from heronpy.plugins.runner.spark.errors import failure_of
from heronpy.plugins.runner.spark.layout import chains
from heronpy.plugins.runner.spark.shipped_plan import ShippedPlan
from heronpy.plugins.runner.spark.worker.chain_worker import run_chain
from heronpy.plugins.runner.spark.worker.reports import Report, totals_of
from heronpy.plugins.runner.spark.worker.rows import (
    FOR_DRIVER,
    MOST,
    RecordPickler,
    SparkRow,
    from_arrow,
    opened,
    to_arrow,
)


def splits_of(plan: Graph) -> dict[str, tuple[str, ...]]:
    return {s.name: tuple(s.op.source.splits()) for s in plan.steps if isinstance(s.op, ReadOp)}


def drawn(p: Pipeline, cores: int = 2) -> list[str]:
    """Each chain with its tasks, and what it sends where."""
    plan = planned(p.graph())
    found = []
    for chain in chains(plan, cores, splits_of(plan)):
        sends = [f"{each.routing} to {each.to}" for each in chain.sends]
        found.append(f"{' + '.join(chain.stages)} x{chain.tasks}: {', '.join(sends) or 'end'}")
    return found


def test_a_sink_runs_in_the_tasks_of_the_stage_that_it_reads() -> None:
    p = Pipeline("p")
    words = p.read(sources.items("abcab", parts=3), name="read")
    words.key_by(lambda word: word).count(name="count").write(sinks.printed(), name="print")
    assert drawn(p) == ["read x2: key to count", "count + print x2: end"]


def test_a_stage_runs_behind_each_that_it_reads_unless_it_has_tasks_of_its_own() -> None:
    p = Pipeline("p")
    one, two = p.read(sources.items([1]), name="one"), p.read(sources.items([2]), name="two")
    both = one.merge(two)
    both.write(sinks.printed(), name="print")
    both.map(str, name="text", par=3).write(sinks.printed(), name="texts")
    both.rebalance().map(str, name="dealt").write(sinks.printed(), name="dealt-out")
    both.count(name="all").write(sinks.printed(), name="sum")
    assert drawn(p) == [
        "one + print x1: deal to text, deal to dealt, one to all",
        "two + print x1: deal to text, deal to dealt, one to all",
        "text + texts x3: end",
        "dealt + dealt-out x2: end",
        "all + sum x1: end",
    ]


def as_spark_does(p: Pipeline, folder: Path) -> list[Report]:
    """All chains, task after task, with what Spark is asked to do between them."""
    plan = planned(p.graph())
    splits = splits_of(plan)
    layout = chains(plan, 2, splits)
    file = folder / "plan"
    file.write_bytes(ShippedPlan(plan, layout, splits, {}, "run-1").dumps())
    sent: dict[str, list[SparkRow]] = {chain.name: [] for chain in layout}
    reports: list[Report] = []
    for number, chain in enumerate(layout):
        for task in range(chain.tasks):
            mine = [row for row in sent[chain.name] if row.task == task]
            source = [pa.RecordBatch.from_arrays([pa.array([task])], names=["id"])]
            batches = source if chain.source else [to_arrow(mine)] if mine else []
            readers = {exchange.tag: exchange.to for exchange in chain.sends}
            for row in from_arrow(run_chain(str(file), number, task, batches)):
                if row.tag != FOR_DRIVER:
                    sent[readers[row.tag]].append(row)
                elif chain.readers:
                    sent[chain.readers[0]].append(row)
                else:
                    reports.append(opened(row.records))
    return reports


def test_chains_make_results_and_totals_of_their_splits(tmp_path: Path) -> None:
    p = Pipeline("p")
    numbers = p.read(sources.items(["1", "two", *map(str, range(5000))], parts=3), name="texts")
    by_digit = numbers.map(int, on_error="skip", name="int").key_by(lambda n: n % 10)
    counts = by_digit.count(name="count")
    counts.write(sinks.collected(), name="counts")
    counts.map(lambda pair: pair[1]).write(sinks.files(tmp_path / "files"), name="files")
    reports = as_spark_does(p, tmp_path)
    found = [record for report in reports for record in report.records]
    assert sorted(found) == [(digit, 500 + (digit == 1)) for digit in range(10)]
    assert totals_of(reports) == RunTotals(
        read={"texts": 5002}, written={"counts": 10, "files": 10}, failed={"int": 1}
    )
    handles = [report for report in reports if report.handle]
    assert {report.step for report in handles} == {"files"}
    staged = list((tmp_path / "files" / ".uncommitted").iterdir())
    assert len(staged) == len(handles), "nothing is visible before the driver commits"
    assert list((tmp_path / "files").glob("*.txt")) == []


def test_the_error_of_a_step_comes_out_of_whatever_spark_says(tmp_path: Path) -> None:
    p = Pipeline("p")
    p.read(sources.items([2, 0])).map(lambda n: 6 // n, name="share").write(sinks.printed())
    with pytest.raises(RuntimeError) as caught:
        as_spark_does(p, tmp_path)
    said = f"org.apache.spark.SparkException: Job aborted\n{caught.value}\n\tat org.apache.spark"
    failure = failure_of(RuntimeError(said))
    assert str(failure).startswith("step 'share' failed at test_spark_chains.py:")
    assert str(failure).endswith(": ZeroDivisionError: integer division or modulo by zero, for the record 0")
    assert "6 // n" in failure.traceback
    assert str(failure_of(RuntimeError(": a.b.C: no space\n\tat x"))) == "the Spark job failed: no space"


def test_rows_grow_to_a_size_and_take_classes_that_have_no_module_along() -> None:
    pickler = RecordPickler()
    pickler.dumps(["x"] * 256, 256)
    assert pickler.at_once == MOST
    pickler.dumps([b"x" * 2_000_000], 1)
    assert pickler.at_once == 1
    local = type("Local", (), {"__module__": "__main__"})
    [found] = opened(RecordPickler().dumps([local()], 1))
    assert type(found) is local


def test_what_cannot_be_sent_is_said_with_its_step() -> None:
    lock: Any = threading.Lock()
    p = Pipeline("p")
    p.read(sources.items([1])).map(lambda n: (n, lock), name="locked").write(sinks.printed())
    plan = planned(p.graph())
    with pytest.raises(
        UserError,
        match=r"^step 'locked' at test_spark_chains.py:\d+ cannot be sent to Spark's workers: cannot pickle"
        r" '_thread.lock' object \(try: open files, locks and connections inside the function\)$",
    ):
        ShippedPlan(plan, (), {}, {}, "run-1").dumps()


def test_a_source_that_never_ends_is_refused_by_name() -> None:
    p = Pipeline("p")
    p.read(sources.rate(10), name="ticks").write(sinks.printed())
    with pytest.raises(
        UnsupportedOnRunner,
        match=r"^the runner 'spark' has no sources that never end: step 'ticks' at .*\.py:\d+ \(try: ",
    ):
        refusals.check(planned(p.graph()))
