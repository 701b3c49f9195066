"""Aggregates: two stages give what one gives, and what was deducted was never there."""

from __future__ import annotations

import doctest
import functools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heronpy import UserError
from heronpy.pipeline import Aggregate, agg


def halved(value: int) -> int:
    return value // 2


AGGREGATES: dict[str, Aggregate[int, Any, Any]] = {
    "count": agg.count(),
    "sum": agg.sum(halved),
    "mean": agg.mean(halved),
    "min": agg.min(halved),
    "max": agg.max(halved),
    "top": agg.top(3, by=halved),
    "last": agg.last(3, by=halved),
    "maxima": agg.maxima(halved),
    "to_list": agg.to_list(),
    "to_set": agg.to_set(),
    "distinct": agg.distinct(),
    "reduce": agg.reduce(lambda a, b: a + b),
    "fold": agg.fold(int, lambda a, r: a ^ r, lambda a, b: a ^ b),
    "of": agg.of(n=agg.count(), sum=agg.sum(halved)),
}
each = pytest.mark.parametrize("name", AGGREGATES)
values = st.lists(st.integers(-20, 20))


def accumulated(aggregate: Aggregate[int, Any, Any], records: list[int]) -> Any:
    return functools.reduce(aggregate.add, records, aggregate.create())


@each
@given(parts=st.lists(values, min_size=1), record=st.integers(-20, 20))
def test_accumulators_of_parts_combine_to_that_of_the_whole(
    name: str, parts: list[list[int]], record: int
) -> None:
    aggregate = AGGREGATES[name]
    assert aggregate.combine is not None
    parts = [[record], *parts]
    whole = [value for part in parts for value in part]
    combined = functools.reduce(aggregate.combine, [accumulated(aggregate, part) for part in parts])
    assert aggregate.finish(combined) == aggregate.over(whole)


@each
@given(a=values, b=values, c=values, record=st.integers(-20, 20))
def test_combine_is_associative(name: str, a: list[int], b: list[int], c: list[int], record: int) -> None:
    aggregate = AGGREGATES[name]
    combine = aggregate.combine
    assert combine is not None
    made = [functools.partial(accumulated, aggregate, part) for part in ([record, *a], b, c)]
    left = combine(combine(made[0](), made[1]()), made[2]())
    right = combine(made[0](), combine(made[1](), made[2]()))
    assert aggregate.finish(left) == aggregate.finish(right)


@pytest.mark.parametrize("name", [name for name, one in AGGREGATES.items() if one.deduct is not None])
@given(a=values, b=values)
def test_deducting_what_was_combined_leaves_the_rest(name: str, a: list[int], b: list[int]) -> None:
    aggregate = AGGREGATES[name]
    assert aggregate.combine is not None
    assert aggregate.deduct is not None
    first, second = accumulated(aggregate, a), accumulated(aggregate, b)
    assert aggregate.deduct(aggregate.combine(first, second), second) == first


@each
def test_a_result_does_not_change_when_more_is_added(name: str) -> None:
    aggregate = AGGREGATES[name]
    accumulator = aggregate.add(aggregate.create(), 7)
    result = aggregate.finish(accumulator)
    before = repr(result)
    aggregate.add(accumulator, 9)
    assert repr(result) == before


@given(records=values)
def test_top_and_last_are_a_sort_and_a_cut(records: list[int]) -> None:
    assert agg.top(3, by=abs).over(records) == sorted(records, key=abs, reverse=True)[:3]
    assert agg.last(3, by=abs).over(records) == sorted(records, key=abs)[-3:]


def test_several_aggregates_combine_only_if_each_does() -> None:
    assert agg.of(n=agg.count(), text=agg.fold(str, lambda a, r: a + r)).combine is None
    assert agg.of(n=agg.count(), most=agg.max(abs)).deduct is None


def test_no_aggregates_are_refused() -> None:
    with pytest.raises(UserError, match=r"^agg.of\(\) has no aggregate \(try: agg.of\(n=agg.count\(\)\)\)$"):
        agg.of()


def test_a_fold_of_what_cannot_change_copies_nothing() -> None:
    total: Aggregate[int, Any, Any] = agg.fold(lambda: (0, 0), lambda a, n: (a[0] + 1, a[1] + n))
    accumulator = total.add(total.create(), 5)
    assert total.finish(accumulator) is accumulator


def test_an_accumulator_that_is_not_used_any_more_is_the_result() -> None:
    listed: Aggregate[int, Any, Any] = agg.fold(list[int], lambda kept, n: [*kept, n])
    kept = [1]
    assert listed.closed(kept) is kept
    assert listed.finish(kept) == kept
    assert listed.finish(kept) is not kept


def test_the_examples_in_the_docstrings_are_true() -> None:
    assert doctest.testmod(agg).failed == 0
    assert doctest.testmod(agg).attempted > 10
