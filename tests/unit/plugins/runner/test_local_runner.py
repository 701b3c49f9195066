"""The runner `local`: what it read and wrote, and what stays when it fails or is interrupted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.pipelines.scripted import ScriptedSource

from heronpy import Bolt, Pipeline, Spout
from heronpy.connectors import Chunk, Reader, Sink, Source, Writer
from heronpy.kernel import plans
from heronpy.kernel.config import load_config
from heronpy.kernel.plugin import Runner, RunTotals, UnsupportedOnRunner
from heronpy.operators.failing import StepFailed
from heronpy.pipeline import sinks, sources, tumbling
from heronpy.planner.planning import planned
from heronpy.plugins.runner.local import LocalRunner
from heronpy.stages import in_process


def run(p: Pipeline) -> RunTotals:
    runner: Runner = LocalRunner()
    runner.initialize(load_config("/dev/null", environ={}))
    plan = planned(p.graph())
    runner.check(plan)
    try:
        return runner.run(plan, plans.Source())
    finally:
        runner.close()


def test_totals_name_each_source_sink_and_step_that_left_records_out() -> None:
    p, kept, twice = Pipeline("p"), sinks.collected(), sinks.collected()
    numbers = p.read(sources.items(["1", "two", "3"]), name="texts").map(int, on_error="skip", name="int")
    numbers.write(kept)
    numbers.flat_map(lambda n: [n, n]).write(twice, name="twice")
    p.read(sources.items(()), name="nothing").write(kept, name="none")
    assert run(p) == RunTotals(
        read={"texts": 3, "nothing": 0}, written={"collected": 2, "twice": 4, "none": 0}, failed={"int": 1}
    )


def test_totals_include_what_was_read_for_a_table() -> None:
    p, kept = Pipeline("p"), sinks.collected()
    rows = p.read(sources.items([1, 2, 0]), name="rows").map(lambda n: 6 // n, on_error="skip", name="share")
    records = p.read(sources.items([6, 3, 1]), name="records")
    records.hash_join(rows, on=lambda n: n, key=lambda n: n).write(kept)
    assert run(p) == RunTotals(read={"rows": 3, "records": 3}, written={"collected": 2}, failed={"share": 1})


def test_totals_include_what_was_late_for_a_table() -> None:
    p = Pipeline("p")
    seconds = p.read(ScriptedSource(("a", [1, 12]), ("a", [3])), name="seconds")
    timed = seconds.event_time(lambda second: second, unit="s", lag="0s")
    rows = timed.window(tumbling("10s")).count(name="counts")
    numbers = p.read(sources.items([1]))
    numbers.hash_join(rows, on=lambda n: n, key=lambda row: row.value).write(sinks.collected())
    assert run(p).late == (
        "counts: dropped 1 late record (latest 2s behind; lateness='5s' would have kept 1)",
    )


def interrupted_at(last: int) -> Any:
    """A step whose process gets Ctrl-C at this number."""

    def pass_on(n: int) -> int:
        if n == last:
            raise KeyboardInterrupt
        return n

    return pass_on


def test_of_an_interrupted_run_only_what_was_visible_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_process, "COMMIT_EVERY", 0.0)
    p = Pipeline("p")
    p.read(sources.items(range(10_000))).map(interrupted_at(5000)).write(sinks.files(tmp_path))
    with pytest.raises(KeyboardInterrupt):
        run(p)
    [visible] = tmp_path.glob("*.txt")
    assert visible.read_text().split() == [str(n) for n in range(in_process.BATCH)]
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [visible]


class Watched(Sink[Any]):
    """Notes what becomes of its writers."""

    def __init__(self, fails: str = "") -> None:
        self.calls: list[str] = []
        self.fails = fails

    def open(self, owner: str) -> Writer[Any]:
        return _Watched(self)


class _Watched(Writer[Any]):
    def __init__(self, sink: Watched) -> None:
        self._sink = sink

    def _note(self, call: str) -> None:
        self._sink.calls.append(call)
        if call == self._sink.fails:
            msg = "the disk is full"
            raise OSError(msg)

    def write(self, records: Sequence[Any]) -> None:
        self._note("write")

    def prepare(self, checkpoint: int) -> bytes:
        self._note("prepare")
        return b"all"

    def commit(self, handle: bytes) -> None:
        self._note("commit")

    def abort(self) -> None:
        self._note("abort")

    def close(self) -> None:
        self._note("close")


class WatchedSource(Source[int]):
    """Two records, and notes when its reader is closed."""

    def __init__(self) -> None:
        self.closed = 0

    def splits(self) -> Sequence[str]:
        return ["0"]

    def open(self) -> Reader[int]:
        return _WatchedReader(self)


class _WatchedReader(Reader[int]):
    def __init__(self, source: WatchedSource) -> None:
        self._source = source

    def assign(self, positions: Mapping[str, Any]) -> None:
        assert positions == {"0": None}

    def poll(self, most: int) -> Chunk[int] | None:
        return Chunk("0", [1, 2], 2, ended=True)

    def close(self) -> None:
        self._source.closed += 1


@pytest.mark.parametrize(
    ("fails", "calls"),
    [
        ("", ["abort", "write", "prepare", "commit", "close"]),
        ("write", ["abort", "write", "abort", "close"]),
        ("prepare", ["abort", "write", "prepare", "abort", "close"]),
        ("commit", ["abort", "write", "prepare", "commit", "abort", "close"]),
    ],
)
def test_a_writer_is_closed_and_what_it_did_not_commit_is_discarded(fails: str, calls: list[str]) -> None:
    p, source, sink = Pipeline("p"), WatchedSource(), Watched(fails)
    p.read(source).write(sink, name="store")
    if fails:
        with pytest.raises(
            StepFailed,
            match=r"^step 'store' failed at test_local_runner.py:\d+: OSError: the disk is full$",
        ):
            run(p)
    else:
        run(p)
    assert (sink.calls, source.closed) == (calls, 1)


def test_what_a_source_complains_of_is_said_with_its_step_and_line(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text('{"n": 1}\nnothing\n')
    p, kept = Pipeline("p"), sinks.collected()
    p.read(sources.json_lines(tmp_path / "events.jsonl"), name="events").write(kept)
    with pytest.raises(StepFailed) as caught:
        run(p)
    line = planned(p.graph())["events"].site.line
    assert str(caught.value).startswith(f"step 'events' failed at test_local_runner.py:{line}: ")
    assert "events.jsonl" in str(caught.value)
    assert (caught.value.traceback, kept.records) == ("", [])


class Words(Spout):
    outputs = ["word"]


class Count(Bolt):
    pass


def test_spouts_and_bolts_are_refused_by_name_before_anything_starts() -> None:
    p = Pipeline("p")
    p.read(sources.spout(Words)).write(sinks.printed())
    with pytest.raises(
        UnsupportedOnRunner,
        match=r"^the runner 'local' has no spouts: step 'Words' at .*\.py:\d+ \(try: --runner engine, or",
    ):
        run(p)
    p = Pipeline("p")
    p.read(sources.items([1])).write(sinks.bolt(Count))
    with pytest.raises(UnsupportedOnRunner, match=r"^the runner 'local' has no bolts: step 'Count' at"):
        run(p)
