"""What steps make is what plain Python makes, however they are cut into stages."""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.pipelines.ran import ran

from heronpy.pipeline import Aggregate, Context, Stream, agg

Steps = Callable[[Stream[Any]], Stream[Any]]
numbers = st.lists(st.integers(-9, 9), max_size=40)

STATELESS: dict[str, tuple[Steps, Callable[[list[int]], list[int]]]] = {
    "map": (lambda s: s.map(lambda n: n * 3), lambda ns: [n * 3 for n in ns]),
    "filter": (lambda s: s.filter(lambda n: n % 2 == 0), lambda ns: [n for n in ns if n % 2 == 0]),
    "flat_map": (
        lambda s: s.flat_map(lambda n: range(n % 3)),
        lambda ns: [m for n in ns for m in range(n % 3)],
    ),
    "only": (lambda s: s.flat_map(lambda n: [n, str(n)]).only(int), lambda ns: ns),
    "aside": (
        lambda s: s.map(lambda n: 6 // n, on_error="aside"),
        lambda ns: [6 // n for n in ns if n],
    ),
    "skip": (
        lambda s: s.flat_map(lambda n: [n, 6 // n], on_error="skip"),
        lambda ns: [m for n in ns if n for m in (n, 6 // n)],
    ),
}
chains = st.lists(st.sampled_from(sorted(STATELESS)), max_size=5)


@given(values=numbers, chain=chains)
def test_a_fused_chain_is_what_its_steps_are_in_stages_of_their_own(
    values: list[int], chain: list[str]
) -> None:
    def fused(stream: Stream[Any]) -> Stream[Any]:
        for word in chain:
            stream = STATELESS[word][0](stream)
        return stream

    def apart(stream: Stream[Any]) -> Stream[Any]:
        for word in chain:
            stream = STATELESS[word][0](stream.rebalance())
        return stream

    expected = values
    for word in chain:
        expected = STATELESS[word][1](expected)
    assert ran(values, fused) == expected
    assert ran(values, apart) == expected


AGGREGATES: dict[str, Aggregate[int, Any, Any]] = {
    "count": agg.count(),
    "sum": agg.sum(abs),
    "mean": agg.mean(abs),
    "max": agg.max(abs),
    "top": agg.top(2, by=abs),
    "to_set": agg.to_set(),
    "of": agg.of(n=agg.count(), least=agg.min(abs)),
}


@pytest.mark.parametrize("name", AGGREGATES)
@given(values=numbers, others=numbers)
def test_two_stages_aggregate_what_one_does(name: str, values: list[int], others: list[int]) -> None:
    in_two = AGGREGATES[name]
    in_one = dataclasses.replace(in_two, combine=None)

    def aggregated(aggregate: Aggregate[int, Any, Any]) -> Steps:
        return lambda s: s.merge(s.map(lambda n: n + 1)).key_by(lambda n: n % 3).aggregate(aggregate)

    assert dict(ran(values, aggregated(in_two))) == dict(ran(values, aggregated(in_one)))
    assert ran(others, lambda s: s.aggregate(in_two)) == ran(others, lambda s: s.aggregate(in_one))


@given(values=numbers)
def test_the_parts_of_a_partition_merge_to_the_whole(values: list[int]) -> None:
    def parted(stream: Stream[Any]) -> Stream[Any]:
        even, odd = stream.partition(lambda n: n % 2 == 0)
        return even.map(lambda n: ("even", n)).merge(odd.map(lambda n: ("odd", n)))

    assert Counter(ran(values, parted)) == Counter(("even" if n % 2 == 0 else "odd", n) for n in values)


@given(values=numbers)
def test_count_and_top_of_all_records(values: list[int]) -> None:
    assert ran(values, lambda s: s.count()) == ([len(values)] if values else [])
    best = sorted(values, key=abs, reverse=True)[:3]
    assert ran(values, lambda s: s.top(3, by=abs)) == ([best] if values else [])


@given(values=numbers)
def test_rolling_speaks_for_each_record(values: list[int]) -> None:
    seen: Counter[int] = Counter()
    expected = []
    for n in values:
        seen[n % 3] += 1
        expected.append((n % 3, seen[n % 3]))
    assert ran(values, lambda s: s.key_by(lambda n: n % 3).rolling(agg.count())) == expected


@given(values=numbers)
def test_dedup_keeps_the_first_record_of_each_key(values: list[int]) -> None:
    first: dict[int, int] = {}
    for n in values:
        first.setdefault(n % 3, n)
    assert ran(values, lambda s: s.key_by(lambda n: n % 3).dedup()) == list(first.values())


def differences(state: list[int], number: int, context: Context[int]) -> Iterator[tuple[int, int]]:
    if state:
        yield context.key, number - state.pop()
    if number == 7:
        context.clear()
    state.append(number)


@given(values=numbers)
def test_process_has_one_state_for_each_key_until_it_is_cleared(values: list[int]) -> None:
    last: dict[int, int] = {}
    expected = []
    for n in values:
        if n % 3 in last:
            expected.append((n % 3, n - last.pop(n % 3)))
        if n != 7:
            last[n % 3] = n
    assert ran(values, lambda s: s.key_by(lambda n: n % 3).process(list[int], differences)) == expected


def grouped(values: list[int], by: int) -> dict[int, list[int]]:
    groups = defaultdict(list)
    for n in values:
        groups[n % by].append(n)
    return groups


@given(values=numbers)
def test_a_co_group_has_all_records_of_both_sides(values: list[int]) -> None:
    def both(stream: Stream[Any]) -> Stream[Any]:
        small = stream.filter(lambda n: n < 3)
        return stream.key_by(lambda n: n % 3).co_group(small.key_by(lambda n: n % 3))

    left, right = grouped(values, 3), grouped([n for n in values if n < 3], 3)
    assert {r.key: r.value for r in ran(values, both)} == {k: (left[k], right[k]) for k in left}


@pytest.mark.parametrize("how", ["inner", "left", "right", "outer"])
@given(values=numbers)
def test_a_join_has_each_pair_and_none_where_a_side_is_missing(how: Any, values: list[int]) -> None:
    def joined(stream: Stream[Any]) -> Stream[Any]:
        low, high = stream.filter(lambda n: n < 3), stream.filter(lambda n: n > -3)
        return low.key_by(lambda n: n % 3).join(high.key_by(lambda n: n % 3), how=how)

    left, right = grouped([n for n in values if n < 3], 3), grouped([n for n in values if n > -3], 3)
    expected: Counter[Any] = Counter()
    for k in {*left, *right}:
        rows: list[Any] = [*left[k]] or ([None] if how in ("right", "outer") else [])
        others: list[Any] = [*right[k]] or ([None] if how in ("left", "outer") else [])
        expected.update((k, (a, b)) for a in rows for b in others)
    assert Counter((r.key, r.value) for r in ran(values, joined)) == expected


@pytest.mark.parametrize("how", ["inner", "left"])
@given(values=numbers)
def test_a_hash_join_finds_every_row_of_a_table_that_is_made_first(how: Any, values: list[int]) -> None:
    def joined(stream: Stream[Any]) -> Stream[Any]:
        counts = stream.filter(lambda n: n > 0).key_by(lambda n: n).count()
        return stream.hash_join(counts, on=lambda n: n, key=lambda row: row[0], how=how)

    counts = Counter(n for n in values if n > 0)
    expected = [(n, (n, counts[n]) if n in counts else None) for n in values if n in counts or how == "left"]
    assert ran(values, joined) == expected
