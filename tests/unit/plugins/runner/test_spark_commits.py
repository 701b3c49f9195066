"""What the runner `spark` makes visible when a job has succeeded: all of it, or an error that says what."""

from __future__ import annotations

import contextlib
import signal
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from heronpy import Pipeline
from heronpy.connectors import Sink, Writer
from heronpy.operators.failing import StepFailed
from heronpy.pipeline import sinks, sources
from heronpy.pipeline.graph import Graph, WriteOp
from heronpy.planner.planning import planned
from heronpy.plugins.runner.spark.commits import Commits
from heronpy.plugins.runner.spark.worker.reports import Report, owner_of


def plan_of(folder: Path, *more: Sink[Any]) -> Graph:
    """Rows go to files, to a database, and to sinks of the test."""
    p = Pipeline("rows")
    rows = p.read(sources.items([(1,), (2,)]), name="read")
    rows.write(sinks.files(folder / "files"), name="files")
    rows.write(sinks.sqlite(folder / "rows.db", "numbers", columns=["n"]), name="sqlite")
    for number, sink in enumerate(more):
        rows.write(sink, name=f"sink-{number}")
    return planned(p.graph())


def staged(plan: Graph, run: str) -> list[Report]:
    """What two tasks of each sink have prepared."""
    reports = []
    for task in (1, 2):
        for step in plan.steps:
            if isinstance(step.op, WriteOp):
                with contextlib.closing(step.op.sink.open(owner_of(plan, step, run))) as writer:
                    writer.write([(task,)])
                    reports.append(Report(step=step.name, handle=writer.prepare(1)))
    return reports


def visible(folder: Path) -> tuple[list[str], list[int]]:
    lines = [path.read_text() for path in (folder / "files").glob("*.txt")]
    with contextlib.closing(sqlite3.connect(folder / "rows.db")) as database:
        return sorted(lines), sorted(n for (n,) in database.execute("SELECT n FROM numbers"))


@pytest.mark.parametrize(
    ("sink", "place"), [("files", "files/.uncommitted"), ("sqlite", "rows.db.uncommitted")]
)
def test_what_another_machine_staged_out_of_sight_is_an_error_and_nothing_is_visible(
    tmp_path: Path, sink: str, place: str
) -> None:
    plan = plan_of(tmp_path)
    with contextlib.ExitStack() as held:
        commits = Commits(plan, "run", held)
        reports = staged(plan, "run")
        for path in (tmp_path / place).iterdir():
            path.unlink()
        with pytest.raises(
            StepFailed,
            match=rf"^step '{sink}' failed at .*: {tmp_path / place} of this machine does not have rows-.*,"
            r" which is to be committed \(try: choose a folder that all machines share\)$",
        ):
            commits.commit(reports)
        commits.abort()
    assert visible(tmp_path) == ([], [])
    assert [path for path in tmp_path.rglob("*uncommitted/*") if path.is_file()] == []


def test_two_runs_of_a_pipeline_at_once_leave_each_other_alone(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    with contextlib.ExitStack() as held:
        first = Commits(plan, "run-1", held)
        reports = staged(plan, "run-1")
        second = Commits(plan, "run-2", held)
        second.commit(staged(plan, "run-2"))
        first.commit(reports)
    assert visible(tmp_path) == (["1\n", "1\n", "2\n", "2\n"], [1, 1, 2, 2])


class OwnSink(Sink[Any]):
    """Of the user's: while it commits, something happens."""

    def __init__(self, happens: Any) -> None:
        self.happens = happens

    def open(self, owner: str) -> Writer[Any]:
        return _OwnWriter(self)


class _OwnWriter(Writer[Any]):
    def __init__(self, sink: OwnSink) -> None:
        self._sink = sink
        self._count = 0

    def write(self, records: Sequence[Any]) -> None:
        self._count += len(records)

    def prepare(self, checkpoint: int) -> bytes:
        return b"%d of %d" % (self._count, checkpoint) if self._count else b""

    def commit(self, handle: bytes) -> None:
        self._sink.happens()


@pytest.fixture
def hears_ctrl_c() -> Iterator[None]:
    """A process in the background of a shell has SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("hears_ctrl_c")
def test_ctrl_c_while_it_commits_has_its_effect_when_all_is_committed(tmp_path: Path) -> None:
    collected = sinks.collected()
    committed = []

    def interrupt() -> None:
        signal.raise_signal(signal.SIGINT)
        committed.append("own")

    plan = plan_of(tmp_path, OwnSink(interrupt), collected)
    with contextlib.ExitStack() as held:
        commits = Commits(plan, "run", held)
        reports = [each for each in staged(plan, "run") if each.step != "sink-1"]
        before = signal.getsignal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            commits.commit([*reports, Report(step="sink-1", records=[(1,)])])
        assert signal.getsignal(signal.SIGINT) is before
    assert (visible(tmp_path), committed) == ((["1\n", "2\n"], [1, 2]), ["own", "own"])
    assert collected.records == [], "the interrupt comes before what the driver itself writes"


def test_an_error_between_two_sinks_says_what_is_visible(tmp_path: Path) -> None:
    def fail() -> None:
        msg = "the disk is full"
        raise OSError(msg)

    plan = plan_of(tmp_path, OwnSink(fail))
    with contextlib.ExitStack() as held:
        commits = Commits(plan, "run", held)
        with pytest.raises(
            StepFailed,
            match=r"^step 'sink-0' failed at .*: OSError: the disk is full; committed before that:"
            r" 2 of 2 parts of 'files'; the rest is discarded$",
        ):
            commits.commit(staged(plan, "run"))
        commits.abort()
    assert visible(tmp_path) == (["1\n", "2\n"], [])
