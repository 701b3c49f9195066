"""Metrics of a component's own: read and started over at every report."""

from __future__ import annotations

from heronpy.metrics import (
    AssignableMetrics,
    CountMetric,
    MeanReducedMetric,
    MultiAssignableMetrics,
    MultiCountMetric,
    MultiMeanReducedMetric,
)


def test_a_count_starts_over() -> None:
    count = CountMetric()
    count.incr()
    count.incr(to_add=10)
    assert [count.get_value_and_reset(), count.get_value_and_reset()] == [11, 0]


def test_counts_by_key_keep_their_keys() -> None:
    counts = MultiCountMetric()
    counts.incr("a")
    counts.incr(key="a", to_add=2)
    counts.add_key("b")
    assert counts.get_value_and_reset() == {"a": 3, "b": 0}
    assert counts.get_value_and_reset() == {"a": 0, "b": 0}


def test_a_mean_of_nothing_is_none() -> None:
    mean = MeanReducedMetric()
    mean.update(1)
    mean.update("4")
    assert [mean.get_value_and_reset(), mean.get_value_and_reset()] == [2.5, None]


def test_means_by_key() -> None:
    means = MultiMeanReducedMetric()
    means.update("a", 2)
    means.update(key="a", value=4)
    means.add_key("b")
    assert means.get_value_and_reset() == {"a": 3.0, "b": None}
    assert means.get_value_and_reset() == {"a": None, "b": None}


def test_an_assigned_value_stays() -> None:
    value = AssignableMetrics(1)
    value.update(2)
    assert [value.get_value_and_reset(), value.get_value_and_reset()] == [2, 2]
    values = MultiAssignableMetrics()
    values.update("a", 1)
    values.update("a", 5)
    assert [values.get_value_and_reset(), values.get_value_and_reset()] == [{"a": 5}, {"a": 5}]
