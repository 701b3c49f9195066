"""One record may become more than fits into memory; many keys may not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from heronpy.operators.at_the_end import partially
from heronpy.operators.failing import Failing
from heronpy.operators.flowing import MOST, Flowing
from heronpy.pipeline import agg
from heronpy.pipeline.graph import EdgeKey, Site

ANYWHERE = Failing(EdgeKey("s", str, Site("f.py", 1)))


@given(st.lists(st.integers(0, 3 * MOST), max_size=5), st.booleans())
def test_records_flow_on_in_lists_of_limited_length(sizes: list[int], lists: bool) -> None:
    out: list[Sequence[Any]] = []
    flowing = Flowing(out.append)
    for size in sizes:
        flowing.add(list(range(size)) if lists else iter(range(size)))
    flowing.flush()
    assert [n for part in out for n in part] == [n for size in sizes for n in range(size)]
    assert all(out)
    assert lists or all(len(part) <= MOST for part in out)


def test_an_endless_record_is_not_waited_for() -> None:
    out: list[int] = []

    def at_most_three(part: Sequence[Any]) -> None:
        out.append(len(part))
        if len(out) == 3:
            raise StopAsyncIteration

    flowing = Flowing(at_most_three)
    try:
        flowing.add(iter(int, 1))
    except StopAsyncIteration:
        assert out == [MOST] * 3


def test_a_partial_aggregate_hands_on_what_it_has_when_it_has_too_many_keys() -> None:
    out: list[Any] = []
    partial = partially(agg.count(), out.extend, ANYWHERE, keyed=True, most=3)
    partial.take(0, [("a", 1), ("a", 1), ("b", 1)])
    assert out == []
    partial.take(0, [("c", 1)])
    assert out == [("a", 2), ("b", 1), ("c", 1)]
    partial.take(0, [("a", 1)])
    partial.end()
    assert out[3:] == [("a", 1)]
