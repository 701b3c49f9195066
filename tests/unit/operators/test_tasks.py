"""A pipeline makes the same of its records however many tasks take part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.pipelines.ran import ran
from support.pipelines.tasks import made_by_tasks

from heronpy.pipeline import Context, Pipeline, Stream, Tag, agg, sinks, sources

SEEN_BEFORE = Tag[int]("seen-before")


def first_of_each(seen: set[int], number: int, context: Context[int]) -> Iterator[tuple[int, int]]:
    if number in seen:
        context.side(SEEN_BEFORE, number)
    else:
        seen.add(number)
        yield context.key, number


def both_outputs(numbers: Stream[int]) -> Stream[Any]:
    found = numbers.key_by(lambda n: n % 3).process(set[int], first_of_each)
    return found.merge(found[SEEN_BEFORE])


PIPELINES: dict[str, Callable[[Stream[int]], Stream[Any]]] = {
    "count": lambda s: s.flat_map(lambda n: [n, n + 1]).key_by(lambda n: n % 3).count(),
    "count of all": lambda s: s.count(),
    "count of counts": lambda s: s.key_by(lambda n: n % 5).count().key_by(lambda kv: kv[1]).count(),
    "largest": lambda s: s.key_by(lambda n: n % 3).aggregate(agg.max(abs)),
    "without combine": lambda s: s.key_by(lambda n: n % 3).aggregate(agg.fold(int, lambda a, n: a + n)),
    "different": lambda s: s.key_by(lambda n: n).dedup(),
    "process": both_outputs,
    "join": lambda s: s.key_by(lambda n: n % 3).join(s.filter(lambda n: n > 0).key_by(lambda n: n % 5)),
    "parts": lambda s: s.partition(lambda n: n > 0)[0].merge(s.map(lambda n: -n)).rebalance().map(str),
}


@pytest.mark.parametrize("name", PIPELINES)
@given(values=st.lists(st.integers(-9, 9), max_size=30), tasks=st.integers(1, 4), seed=st.integers(0, 99))
def test_many_tasks_make_what_one_makes(name: str, values: list[int], tasks: int, seed: int) -> None:
    p = Pipeline("p")
    PIPELINES[name](p.read(sources.items(values))).write(sinks.collected())
    made = made_by_tasks(p, values, tasks, seed)
    assert Counter(map(repr, made)) == Counter(map(repr, ran(values, PIPELINES[name])))
