"""The JSON-lines sink: one line a sample, bounded, readable while it is written, and calm on a full disk."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from heronpy.kernel.config import load_config
from heronpy.kernel.errors import ConfigError
from heronpy.kernel.plugin.metric_sink import Sample
from heronpy.plugins.metrics.jsonl import JsonLines

LABELS = {"topology": "words", "container": "1", "component": "count", "task": "3"}


def sample(value: float, name: str = "emitted", **labels: str) -> Sample:
    return Sample(name, value, "counter", {**LABELS, **labels})


def started(folder: Path, **settings: str) -> JsonLines:
    sink = JsonLines()
    flags = {f"plugins.jsonl.{key}": value for key, value in settings.items()}
    sink.initialize(load_config(environ={}, flags=flags), "words", 1, str(folder))
    return sink


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "container-1.jsonl"


@pytest.fixture
def sink(tmp_path: Path) -> Iterator[JsonLines]:
    sink = started(tmp_path)
    yield sink
    sink.close()


def test_every_sample_is_one_flat_line_that_is_there_at_once(sink: JsonLines, path: Path) -> None:
    sink.write(12.5, [sample(7, stream="default"), Sample("memory_bytes", 1024.0, "gauge", LABELS)])
    assert rows(path) == [
        {**LABELS, "stream": "default", "at": 12.5, "name": "emitted", "value": 7.0, "kind": "counter"},
        {**LABELS, "at": 12.5, "name": "memory_bytes", "value": 1024.0, "kind": "gauge"},
    ]
    sink.write(13.5, [sample(8)])
    assert [row["at"] for row in rows(path)] == [12.5, 12.5, 13.5]


def test_nothing_to_write_makes_no_file(sink: JsonLines, path: Path) -> None:
    sink.write(1.0, [])
    assert not path.exists()


def test_values_that_json_does_not_know_become_null(sink: JsonLines, path: Path) -> None:
    sink.write(1.0, [sample(float("nan")), sample(float("inf"))])
    assert [row["value"] for row in rows(path)] == [None, None]


def test_a_metrics_manager_that_starts_again_goes_on_in_the_same_file(tmp_path: Path, path: Path) -> None:
    for value in (1, 2):
        sink = started(tmp_path)
        sink.write(1.0, [sample(value)])
        sink.close()
    assert [row["value"] for row in rows(path)] == [1.0, 2.0]


@pytest.mark.parametrize("torn", [b'{"at":1.0,"na', b"x" * 200_000], ids=["short", "long"])
def test_half_a_line_left_by_a_writer_that_was_killed_is_cut_off(
    sink: JsonLines, path: Path, torn: bytes
) -> None:
    path.write_bytes(b'{"value":0}\n' + torn)
    sink.write(1.0, [sample(1)])
    assert [row["value"] for row in rows(path)] == [0, 1.0]


def test_a_file_of_nothing_but_half_a_line_starts_over(sink: JsonLines, path: Path) -> None:
    path.write_bytes(b'{"at":1.0,"na')
    sink.write(1.0, [sample(1)])
    assert [row["value"] for row in rows(path)] == [1.0]


def test_the_file_is_bounded_and_one_old_file_is_kept(tmp_path: Path, path: Path) -> None:
    sink = started(tmp_path, max_bytes="1KB")
    for value in range(100):
        sink.write(1.0, [sample(value)])
    sink.close()

    old = tmp_path / "container-1.old.jsonl"
    assert sorted(tmp_path.iterdir()) == [path, old]
    assert max(path.stat().st_size, old.stat().st_size) <= 1024
    kept = [row["value"] for row in rows(old) + rows(path)]
    assert kept == [float(value) for value in range(100 - len(kept), 100)]


def test_a_bound_that_is_no_size_is_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        started(tmp_path, max_bytes="plenty")
    assert str(error.value) == "plugins.jsonl.max_bytes must be a size such as \"64MB\", got 'plenty'"


def test_a_full_disk_is_logged_once_and_writing_goes_on_when_there_is_room(
    sink: JsonLines, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    os.symlink("/dev/full", path)
    for _ in range(3):
        sink.write(1.0, [sample(1), sample(2)])
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert f"cannot write metrics to {path}, dropping them until it works: " in caplog.text
    assert "No space left on device" in caplog.text

    path.unlink()
    caplog.clear()
    for _ in range(2):
        sink.write(2.0, [sample(3)])
    assert [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING] == [
        f"metrics go to {path} again; 6 samples were dropped"
    ]
    assert [row["value"] for row in rows(path)] == [3.0, 3.0]


def test_a_write_that_only_half_fits_leaves_no_half_line(
    sink: JsonLines,
    path: Path,
    half_full: Callable[[], AbstractContextManager[int]],
    caplog: pytest.LogCaptureFixture,
) -> None:
    sink.write(1.0, [sample(1)])
    with half_full() as lines:
        sink.write(2.0, [sample(value) for value in range(lines)])
    assert [row["value"] for row in rows(path)] == [1.0]
    assert path.read_bytes().endswith(b"\n")
    assert "File too large" in caplog.text
