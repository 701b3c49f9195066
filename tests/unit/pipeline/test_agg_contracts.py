"""The aggregates of `agg` keep to the contracts that users' own must keep to, which find what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from heronpy.pipeline import Aggregate, agg
from heronpy.testing.contracts.aggregate import (
    AggregateContract,
    CombiningAggregateContract,
    DeductingAggregateContract,
)

NUMBERS = [5, 3, 9, 9, 1, 4]


@dataclass
class Box:
    """An accumulator of the user's own class, which changes."""

    values: list[int] = field(default_factory=list)

    def put(self, value: int) -> Box:
        self.values.append(value)
        return self

    def take_in(self, other: Box) -> Box:
        self.values += other.values
        return self


def _sorted_in(kept: dict[bool, list[int]], n: int) -> dict[bool, list[int]]:
    kept.setdefault(n % 2 == 0, []).append(n)
    return kept


def _united(one: dict[bool, list[int]], other: dict[bool, list[int]]) -> dict[bool, list[int]]:
    for even, values in other.items():
        one.setdefault(even, []).extend(values)
    return one


DEDUCTING: dict[str, Aggregate[Any, Any, Any]] = {
    "count": agg.count(),
    "sum": agg.sum(lambda n: n),
    "mean": agg.mean(lambda n: n),
    "of": agg.of(n=agg.count(), sum=agg.sum(lambda n: n)),
}
COMBINING: dict[str, Aggregate[Any, Any, Any]] = {
    "min": agg.min(lambda n: n),
    "max": agg.max(lambda n: n),
    "top": agg.top(2, by=lambda n: n),
    "last": agg.last(2, by=lambda n: n),
    "maxima": agg.maxima(lambda n: n),
    "to_list": agg.to_list(),
    "to_set": agg.to_set(),
    "distinct": agg.distinct(),
    "reduce": agg.reduce(max),
    "fold": agg.fold(list[int], lambda kept, n: [*kept, n], lambda a, b: a + b),
    "fold of a class": agg.fold(Box, Box.put, Box.take_in),
    "fold of lists in a dict": agg.fold(dict[bool, list[int]], _sorted_in, _united),
    "of": agg.of(n=agg.count(), max=agg.max(lambda n: n), boxed=agg.fold(Box, Box.put, Box.take_in)),
}


class OfNumbers(AggregateContract):
    """The aggregate is a parameter."""

    @pytest.fixture(autouse=True)
    def named(self, name: str) -> None:
        self.name = name

    def records(self) -> Sequence[Any]:
        return NUMBERS


@pytest.mark.parametrize("name", DEDUCTING)
class TestThoseThatDeduct(OfNumbers, DeductingAggregateContract):
    def make(self) -> Aggregate[Any, Any, Any]:
        return DEDUCTING[self.name]


@pytest.mark.parametrize("name", COMBINING)
class TestThoseThatCombine(OfNumbers, CombiningAggregateContract):
    def make(self) -> Aggregate[Any, Any, Any]:
        return COMBINING[self.name]


@pytest.mark.parametrize("name", ["fold"])
class TestOneThatDoesNeither(OfNumbers):
    def make(self) -> Aggregate[Any, Any, Any]:
        return agg.fold(str, lambda text, n: f"{text}{n}")


def _added(kept: list[int], n: int) -> list[int]:
    kept.append(n)
    return kept


def _popped(kept: list[int]) -> int:
    return kept.pop() if kept else 0


_SHARED: list[int] = []
BROKEN: dict[str, tuple[str, Aggregate[Any, Any, Any]]] = {
    "one accumulator for all": (
        "test_every_accumulator_begins_empty",
        Aggregate("sum", lambda: _SHARED, _added, sum),
    ),
    "a result that uses the accumulator up": (
        "test_a_result_leaves_the_accumulator_as_it_is",
        Aggregate("last", list, _added, _popped),
    ),
    "a result that is the accumulator": (
        "test_a_result_stays_what_it_was_when_records_are_added",
        Aggregate("list", list, _added, lambda kept: kept),
    ),
    "an accumulator that cannot be saved": (
        "test_an_accumulator_can_be_saved",
        Aggregate("late", lambda: lambda: 0, lambda a, n: lambda: a() + n, lambda a: a()),
    ),
    "a mean of means": (
        "test_parts_put_together_are_the_whole",
        Aggregate(
            "mean",
            lambda: (0, 0),
            lambda a, n: ((a[0] * a[1] + n) / (a[1] + 1), a[1] + 1),
            lambda a: a[0],
            lambda a, b: ((a[0] + b[0]) / 2, a[1] + b[1]),
        ),
    ),
    "an empty one that is not": (
        "test_an_empty_accumulator_changes_nothing",
        Aggregate("sum", lambda: 1, lambda a, n: a + n, lambda a: a, lambda a, b: a + b),
    ),
    "a right side that goes on in the left": (
        "test_what_is_combined_into_another_stays_as_it_is",
        Aggregate("list", list, _added, list, lambda a, b: b.extend(a) or b),
    ),
    "a deduction that is none": (
        "test_what_was_put_in_can_be_taken_out",
        Aggregate("max", int, max, lambda a: a, max, lambda a, b: a),
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_would_be_wrong_in_a_window_is_found(what: str) -> None:
    test, aggregate = BROKEN[what]

    class Suite(DeductingAggregateContract):
        def make(self) -> Aggregate[Any, Any, Any]:
            return aggregate

        def records(self) -> Sequence[Any]:
            return NUMBERS

    with pytest.raises((AssertionError, AttributeError, TypeError)):
        getattr(Suite(), test)(aggregate)
