"""The histogram of latencies: exact when small, within a per cent when large, and merged without loss."""

from __future__ import annotations

import random

import pytest

from bench.histogram import Histogram


def test_small_values_are_exact() -> None:
    found = Histogram((value, 1) for value in range(1, 101))
    assert [found.percentile(share) for share in (1, 50, 99, 100)] == [1, 50, 99, 100]
    assert found.total == 100


def test_large_values_are_within_a_per_cent() -> None:
    values = sorted(random.Random(7).randrange(1, 10_000_000) for _ in range(10_000))
    found = Histogram((value, 1) for value in values)
    for share in (50.0, 90.0, 99.0, 99.9):
        exact = values[round(len(values) * share / 100) - 1]
        assert found.percentile(share) == pytest.approx(exact, rel=0.01)
    assert found.summary()["max"] == values[-1]


def test_histograms_are_merged_and_written() -> None:
    one, other = Histogram([(10, 3), (1_000_000, 1)]), Histogram([(20, 4)])
    one.merge(other)
    assert one.total == 8
    assert one.percentile(50) == 20
    again = Histogram.from_plain(one.to_plain())
    assert again.to_plain() == one.to_plain()
    assert Histogram().percentile(50) == 0


def test_a_clock_that_went_back_counts_as_nothing() -> None:
    assert Histogram([(-5, 1)]).percentile(50) == 0
