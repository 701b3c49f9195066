"""The arithmetic of the benchmarks: pairs of rounds, their spread, and when nothing may be said."""

from __future__ import annotations

import re

import pytest

from bench.arithmetic import Goal, alternate, noise, ratios, spread
from bench.figures import FIGURES, Figure, better, chosen, limit
from bench.peers.environments import ROOT
from bench.sides.catalogue import sides, word_sides

ROUNDS = [
    {
        "a": {"rate": 100.0, "cpu": 2.0},
        "b": {"rate": 50.0, "cpu": 6.0},
        "a again": {"rate": 110.0, "cpu": 2.0},
    },
    {"a": {"rate": 90.0, "cpu": 3.0}, "b": {"rate": 30.0, "cpu": 6.0}, "a again": {"rate": 90.0, "cpu": 2.5}},
    {"a": {"rate": 95.0, "cpu": 2.5}},  # b failed
]


def of(measure: str, least: float | None = None) -> Figure:
    return better("k", "t", measure, ("a", "b"), (least, None), ("a", "a again"))


def test_a_ratio_says_how_many_times_better_the_first_is() -> None:
    assert of("rate").values(ROUNDS) == [2.0, 3.0]
    assert of("cpu").values(ROUNDS) == [3.0, 2.0]
    assert of("cpu").noise(ROUNDS) == [1.0, 2.5 / 3.0]


def test_a_limit_is_the_value_itself() -> None:
    assert limit("k", "t", "cpu", "a", (3, None), ("a", "a again")).values(ROUNDS) == [2.0, 3.0, 2.5]
    assert limit("k", "t", "p50", "a", (3, None), ("a", "a again")).values(ROUNDS) == []


def test_sides_alternate_so_that_drift_hits_both() -> None:
    order: list[str] = []

    def side(name: str) -> float:
        order.append(name)
        return float(len(order))

    found = alternate(3, lambda: side("a"), lambda: side("b"))
    assert order == ["a", "b", "b", "a", "a", "b"]
    assert found == ([1.0, 4.0, 5.0], [2.0, 3.0, 6.0])
    assert ratios(*found) == [0.5, 4 / 3, 5 / 6]


def test_noise_is_the_largest_difference_of_a_side_from_itself() -> None:
    assert noise([]) == 0
    assert noise([1.0, 1.1, 0.8]) == pytest.approx(0.25)  # 0.8 is as far off as 1.25


@pytest.mark.parametrize(
    ("values", "twins", "verdict"),
    [
        ([6.5, 7.0, 7.5], [0.95, 1.05], "met"),
        ([6.5, 6.6, 7.5], [0.9, 1.02], "undecided"),
        ([5.5, 5.4, 5.3], [1.0, 1.2], "undecided"),
        ([5.0, 5.0, 5.0], [1.0, 1.1], "missed"),
        ([9.0, 9.0], [1.0, 1.0], "undecided"),
        ([], [1.0], "not measured"),
    ],
)
def test_a_figure_nearer_to_its_goal_than_a_side_to_itself_is_undecided(
    values: list[float], twins: list[float], verdict: str
) -> None:
    assert Goal(6, 7.5).verdict(values, twins) == verdict


def test_a_limit_is_met_from_below() -> None:
    assert Goal(170, 100, most=True).verdict([120.0] * 3, [1.1]) == "met"
    assert Goal(170, 100, most=True).verdict([165.0] * 3, [1.1]) == "undecided"
    assert Goal(170, 100, most=True).verdict([300.0] * 3, [1.1]) == "missed"
    assert str(Goal(170, 100, most=True)) == "≤ 170; aim ≤ 100"
    assert Goal().verdict([1.0], [1.0]) == "not measured"


def test_a_spread_is_printed_with_its_ends() -> None:
    assert spread([3.0, 1.0, 2.0]) == "2 (1 to 3, n=3)"


def test_a_figure_whose_sides_ran_once_borrows_the_noise_of_another() -> None:
    assert of("cpu").borrowed == ""
    assert better("k", "t", "cpu", ("b", "a"), twins=("a", "a again")).borrowed == ""
    assert better("k", "t", "cpu", ("b", "c"), twins=("a", "a again")).borrowed == "a"


def test_a_side_is_held_against_another_run_of_itself_unless_it_is_counted() -> None:
    assert [figure.key for figure in chosen([]) if len(set(figure.twins)) < 2] == ["combines"]


def test_every_figure_names_sides_that_there_are() -> None:
    figures, there = chosen([]), sides()
    assert {name for figure in figures for name in figure.sides} - set(there) == set()
    assert len({figure.key for figure in figures}) == len(figures)
    assert chosen(["latency"]) == list(FIGURES["latency"])
    assert [figure.key for figure in chosen(["rows-pipe"])] == ["rows-pipe"]
    assert chosen(["nothing"]) == []


def test_words_are_counted_by_this_engine_and_by_peers() -> None:
    found = word_sides()
    assert {"rows", "columns fused 2", "batches zipf", "pipe", "lines", "jet"} < set(found)
    assert not {"hop", "idle", "Q5 local", "growth 2"} & set(found)


def test_make_bench_measures_every_group() -> None:
    (line,) = re.findall(r"^BENCH \?= (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert line.split() == list(FIGURES)
