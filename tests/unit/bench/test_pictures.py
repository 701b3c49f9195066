"""The table and the pictures of a run, from what it has written."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from bench.histogram import Histogram
from bench.picture import draw
from bench.rounds import remarks, table

RUN: dict[str, Any] = {
    "began": "2026-01-01T00:00:00+00:00",
    "commit": "abc",
    "machine": "2 cores, Python 3, Linux, load 1, 1, 1",
    "seconds": 60,
    "loads": [0.5, 2.25],
    "hiccups": [{"p99.9": 900.0}, {"p99.9": 12_000.0}],
    "left out": {"storm": "storm is not installed"},
    "failures": [],
    "histograms": {"hop": Histogram([(100, 900), (5000, 100)]).to_plain()},
    "figures": {
        "x": {
            "title": "rows < Bytewax",
            "values": [5.0, 6.0, 7.0],
            "median": 6.0,
            "twins": [1.0, 1.1],
            "goal": "6; aim 7.5",
            "verdict": "undecided",
        },
        "y": {
            "title": "columns",
            "values": [],
            "median": None,
            "twins": [],
            "goal": "10",
            "verdict": "not measured",
        },
    },
}


def test_the_table_has_every_figure_and_what_was_not_measured() -> None:
    assert table([RUN]).splitlines()[2:] == [
        "| rows < Bytewax | 6; aim 7.5 | 6 (5 to 7, n=3) | 1.05 (1 to 1.1, n=2), ± 10% | undecided |",
        "| columns | 10 | not measured |  |  |",
    ]
    said = remarks([RUN])
    assert "load 0.5 to 2.2" in said
    assert "hiccups p99.9 up to 12.0 ms: tails are void" in said
    assert "left out: storm: storm is not installed" in said


def test_a_later_run_wins_but_not_with_nothing() -> None:
    empty = {**RUN, "figures": {"x": {**RUN["figures"]["x"], "values": []}}}
    assert table([RUN, empty]) == table([RUN])


def test_the_pictures_are_svg_with_every_title(tmp_path: Path) -> None:
    files = draw([RUN], tmp_path)
    assert [file.name for file in files] == ["figures.svg", "latency.svg"]
    texts = [
        [each.text for each in ElementTree.parse(file).iter("{http://www.w3.org/2000/svg}text")]
        for file in files
    ]
    assert "rows < Bytewax" in texts[0]
    assert "columns" not in texts[0]
    assert "hop (n=1,000)" in texts[1]
