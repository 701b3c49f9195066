"""Around a query that is measured: events that wait for the clock, results that are counted."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest

from heronpy.connectors import Source
from heronpy.nexmark import NexmarkSource
from heronpy.nexmark.bench.bench_folder import BenchFolder
from heronpy.nexmark.bench.counted_sink import CountedSink
from heronpy.nexmark.bench.held_source import HeldSource
from heronpy.testing.contracts.source import BoundedSourceContract, beginning, by_split, read

EVENTS = NexmarkSource(events=5000, generators=2)


class TestTheSourceOnceStarted(BoundedSourceContract):
    @pytest.fixture(autouse=True)
    def started(self, tmp_path: Path) -> None:
        self.folder = tmp_path
        BenchFolder(tmp_path).start()

    def make(self) -> Source[Any]:
        return HeldSource(NexmarkSource(events=103, generators=3), str(self.folder))


def test_events_are_generated_first_and_wait_for_the_clock(tmp_path: Path) -> None:
    folder, source = BenchFolder(tmp_path), HeldSource(EVENTS, str(tmp_path))
    with contextlib.closing(source.open()) as reader:
        reader.assign(beginning(source))
        while len(folder.generation()) < 2:
            assert reader.poll(100) is None
        assert reader.poll(100) is None
        folder.start()
        found = by_split(source, read(source, reader, beginning(source), 100))
    with contextlib.closing(EVENTS.open()) as reader:
        assert found == by_split(EVENTS, read(EVENTS, reader, beginning(EVENTS), 100))


def test_each_committed_record_counts_once(tmp_path: Path) -> None:
    folder, sink = BenchFolder(tmp_path), CountedSink(str(tmp_path))
    writer, other = sink.open("results-0"), sink.open("results-1")
    writer.write([1, 2])
    other.write([3])
    handle = writer.prepare(1)
    writer.write([4, 5, 6])
    assert folder.results() == 0
    for committer in (writer, other, writer):
        committer.commit(handle)
    assert folder.results() == 2
    other.abort()
    assert other.prepare(1) == b""
    # the successor of a task that died behind its second checkpoint
    lost = writer.prepare(1)
    assert lost != handle
    sink.open("results-0").recover([handle])
    assert folder.results() == 2
