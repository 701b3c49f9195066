"""The table and the pictures of a run, from what it has written."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from bench.__main__ import written
from bench.histogram import Histogram
from bench.picture import draw
from bench.rounds import remarks, table, word_table

RUN: dict[str, Any] = {
    "began": "2026-01-01T00:00:00+00:00",
    "commit": "abc",
    "machine": "2 cores, Python 3, Linux, load 1, 1, 1",
    "seconds": 60,
    "loads": [0.5, 2.25],
    "hiccups": [{"p99.9": 900.0}, {"p99.9": 12_000.0}],
    "left out": {"storm": "storm is not installed"},
    "failures": [],
    "facts": {"rows": {"versions": {"python": "3.11.7", "pyzmq": "27.3.0"}}, "hop": {"asked rate": 1000}},
    "histograms": {"hop": Histogram([(100, 900), (5000, 100)]).to_plain()},
    "rounds": [
        {"rows": {"rate": 500_000.0, "cpu": 2.0}, "columns": {"rate": 8e6, "cpu": 0.15}, "hop": {"p50": 9.0}},
        {"rows": {"rate": 700_000.0, "cpu": 1.0}},
        {"rows": {"rate": 600_000.0, "cpu": 1.5}},
    ],
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
    assert "; python 3.11.7, pyzmq 27.3.0" in said
    assert "left out: storm: storm is not installed" in said


def test_a_later_run_wins_but_not_with_nothing() -> None:
    empty = {**RUN, "figures": {"x": {**RUN["figures"]["x"], "values": []}}}
    assert table([RUN, empty]) == table([RUN])


def test_a_figure_that_borrows_the_noise_of_another_side_names_it() -> None:
    borrowing = {**RUN, "figures": {"x": {**RUN["figures"]["x"], "twins of": "hop"}}}
    assert "| hop: 1.05 (1 to 1.1, n=2), ± 10% |" in table([borrowing])


def test_the_cost_of_a_word_stands_by_itself_the_dearest_first() -> None:
    sides = ["pipe", "columns", "rows"]
    assert word_table([RUN], sides).splitlines()[2:] == [
        "| rows | 600,000 | 1,500 | 3 |",
        "| columns | 8,000,000 | 150 | 1 |",
    ]
    few = {**RUN, "rounds": [{"columns": {"rate": 9e6, "cpu": 0.1}}]}
    both = {**RUN, "rounds": [{"columns": {"rate": 9e6, "cpu": 0.1}, "rows": {"rate": 7e5, "cpu": 1.2}}]}
    assert word_table([RUN, few], sides) == word_table([RUN], sides), "of one run: machines differ"
    assert word_table([RUN, both], sides).splitlines()[2:] == [
        "| rows | 700,000 | 1,200 | 1 |",
        "| columns | 9,000,000 | 100 | 1 |",
    ]


def test_what_is_written_replaces_what_stood_between_the_marks_of_its_name() -> None:
    begin, end = "<!-- words: python -m bench table --write -->", "<!-- end of words -->"
    text = f"before\n{begin}\nold\n{end}\nafter <!-- end of figures -->"
    new = f"before\n{begin}\n\nnew\n\n{end}\nafter <!-- end of figures -->"
    assert written(text, "words", "new") == new
    assert written(new, "words", "new") == new


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
