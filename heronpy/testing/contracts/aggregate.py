"""The aggregate contracts: subclass the one that applies in your tests and say how to make your aggregate."""

from __future__ import annotations

import abc
import copy
import itertools
import pickle
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from heronpy.pipeline import Aggregate


class AggregateContract(abc.ABC):
    """What windows, `rolling` and `aggregate` rely on.

    ```python
    class TestLongest(CombiningAggregateContract):
        def make(self) -> Aggregate[Any, Any, Any]:
            return longest

        def records(self) -> Sequence[Any]:
            return ["to", "stream", "or", "not"]
    ```
    """

    @abc.abstractmethod
    def make(self) -> Aggregate[Any, Any, Any]:
        """The aggregate under test."""

    @abc.abstractmethod
    def records(self) -> Sequence[Any]:
        """Four to eight records, so different that their aggregates differ."""

    def same(self, one: Any, other: Any) -> bool:
        """Whether two results are: say more where floats are added, or where the order of a list is none."""
        return bool(one == other)

    @pytest.fixture
    def aggregate(self) -> Aggregate[Any, Any, Any]:
        return self.make()

    def test_every_accumulator_begins_empty(self, aggregate: Aggregate[Any, Any, Any]) -> None:
        """`create` makes a new one each time: what is added to one is in no other."""
        whole = aggregate.over(self.records())
        assert self.same(aggregate.over(self.records()), whole)

    def test_a_result_leaves_the_accumulator_as_it_is(self, aggregate: Aggregate[Any, Any, Any]) -> None:
        """`finish` is called for each pane, and records are added behind it."""
        first, *others = self.records()
        accumulator = aggregate.add(aggregate.create(), first)
        for record in others:
            assert self.same(aggregate.finish(accumulator), aggregate.finish(accumulator))
            accumulator = aggregate.add(accumulator, record)
        assert self.same(aggregate.finish(accumulator), aggregate.over(self.records()))

    def test_a_result_stays_what_it_was_when_records_are_added(
        self, aggregate: Aggregate[Any, Any, Any]
    ) -> None:
        first, *others = self.records()
        accumulator = aggregate.add(aggregate.create(), first)
        result = aggregate.finish(accumulator)
        before = copy.deepcopy(result)
        for record in others:
            accumulator = aggregate.add(accumulator, record)
        assert self.same(result, before)

    def test_an_accumulator_can_be_saved(self, aggregate: Aggregate[Any, Any, Any]) -> None:
        """It is in checkpoints, and goes from task to task."""
        accumulator = folded(aggregate, self.records()[:2])
        for record in self.records()[2:]:
            accumulator = pickle.loads(pickle.dumps(accumulator))
            accumulator = aggregate.add(accumulator, record)
        assert self.same(aggregate.finish(accumulator), aggregate.over(self.records()))


class CombiningAggregateContract(AggregateContract):
    """One with `combine`, which tasks use before records cross the network, and windows for their slices."""

    def test_parts_put_together_are_the_whole(self, aggregate: Aggregate[Any, Any, Any]) -> None:
        """However the records are cut into three, and whichever two are put together first."""
        records, combine = self.records(), combine_of(aggregate)
        whole = aggregate.over(records)
        for i, j in itertools.combinations_with_replacement(range(len(records) + 1), 2):
            cuts = records[:i], records[i:j], records[j:]
            a, b, c = (folded(aggregate, part) for part in cuts)
            assert self.same(aggregate.finish(combine(combine(a, b), c)), whole), cuts
            a, b, c = (folded(aggregate, part) for part in cuts)
            assert self.same(aggregate.finish(combine(a, combine(b, c))), whole), cuts

    def test_an_empty_accumulator_changes_nothing(self, aggregate: Aggregate[Any, Any, Any]) -> None:
        records, combine = self.records(), combine_of(aggregate)
        whole = aggregate.over(records)
        before = combine(aggregate.create(), folded(aggregate, records))
        behind = combine(folded(aggregate, records), aggregate.create())
        assert self.same(aggregate.finish(before), whole)
        assert self.same(aggregate.finish(behind), whole)

    def test_what_is_combined_into_another_stays_as_it_is(self, aggregate: Aggregate[Any, Any, Any]) -> None:
        """The right side is used again: a slice is in many windows. The left one may change."""
        first, last = self.records()[:2], self.records()[2:]
        right = folded(aggregate, last)
        before = copy.deepcopy(aggregate.finish(right))
        combined = combine_of(aggregate)(folded(aggregate, first), right)
        for record in first:
            combined = aggregate.add(combined, record)
        assert self.same(aggregate.finish(right), before)


class DeductingAggregateContract(CombiningAggregateContract):
    """One with `deduct`, for windows that slide and for results that are taken back."""

    def test_what_was_put_in_can_be_taken_out(self, aggregate: Aggregate[Any, Any, Any]) -> None:
        records, combine, deduct = self.records(), combine_of(aggregate), aggregate.deduct
        assert deduct is not None
        for cut in range(1, len(records)):
            kept, leaving = records[:cut], records[cut:]
            both = combine(folded(aggregate, kept), folded(aggregate, leaving))
            left = deduct(both, folded(aggregate, leaving))
            assert self.same(aggregate.finish(left), aggregate.over(kept)), (kept, leaving)


def folded(aggregate: Aggregate[Any, Any, Any], records: Iterable[Any]) -> Any:
    """The accumulator of records."""
    accumulator = aggregate.create()
    for record in records:
        accumulator = aggregate.add(accumulator, record)
    return accumulator


def combine_of(aggregate: Aggregate[Any, Any, Any]) -> Any:
    """What puts two accumulators together."""
    assert aggregate.combine is not None, "without `combine` it is an AggregateContract"
    return aggregate.combine
