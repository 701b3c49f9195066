"""Steps that speak at the end of the input: aggregates, in one stage or in two, co-groups and joins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from heronpy.operators.failing import Failing
from heronpy.operators.flowing import Flowing, Out
from heronpy.operators.per_key import NEW, States, checked_key
from heronpy.pipeline.agg import Aggregate
from heronpy.pipeline.graph import How
from heronpy.pipeline.records import Result

#: keys of which a partial aggregate keeps accumulators before it hands them on
MOST_KEYS = 100_000


class Accumulating:
    """One accumulator for each key: what all aggregates share. Rows are pairs of key and record."""

    def __init__(
        self,
        create: Callable[[], Any],
        add: Callable[[Any, Any], Any],
        finish: Callable[[Any], Any],
        out: Out,
        failing: Failing,
        states: States,
        *,
        keyed: bool,
        most: int | None = None,
    ) -> None:
        self._create, self._add, self._finish = create, add, finish
        self._out, self._failing, self._keyed, self._most = out, failing, keyed, most
        #: what is kept: key → accumulator
        self.states = states

    def take(self, slot: int, rows: Sequence[Any]) -> None:  # noqa: ARG002 - has one side
        states, get, add = self.states, self.states.get, self._add
        for key, record in rows if self._keyed else ((None, row) for row in rows):
            state = get(key, NEW)
            if state is NEW:
                checked_key(key, self._failing)
                state = self._create()
            try:
                states[key] = add(state, record)
            except Exception as error:
                raise self._failing.on(error, record) from error
        if self._most is not None and len(states) >= self._most:
            self.end()

    def end(self) -> None:
        flowing = Flowing(self._out)
        flowing.add(self._results())
        flowing.flush()
        self.states.clear()

    def _results(self) -> Iterator[Any]:
        for key, state in self.states.items():
            try:
                result = self._finish(state)
            except Exception as error:
                raise self._failing.for_key(error, key) from error
            yield (key, result) if self._keyed else result


def aggregating(
    a: Aggregate[Any, Any, Any], out: Out, failing: Failing, states: States, *, keyed: bool
) -> Accumulating:
    """Records to results, in one stage."""
    return Accumulating(a.create, a.add, a.closed, out, failing, states, keyed=keyed)


def partially(
    a: Aggregate[Any, Any, Any], out: Out, failing: Failing, *, keyed: bool, most: int = MOST_KEYS
) -> Accumulating:
    """Records to accumulators, which are handed on when there are too many of them: they are no state."""
    return Accumulating(a.create, a.add, lambda state: state, out, failing, {}, keyed=keyed, most=most)


def finally_(
    a: Aggregate[Any, Any, Any], out: Out, failing: Failing, states: States, *, keyed: bool
) -> Accumulating:
    """Accumulators to results."""
    assert a.combine is not None
    return Accumulating(a.create, a.combine, a.closed, out, failing, states, keyed=keyed)


class CoGrouping:
    """All records of a key from two sides, or each pair of them."""

    def __init__(self, how: How | None, out: Out, failing: Failing, states: States) -> None:
        self._how, self._out, self._failing, self.states = how, out, failing, states

    def take(self, slot: int, rows: Sequence[Any]) -> None:
        for key, record in rows:
            sides = self.states.get(key)
            if sides is None:
                checked_key(key, self._failing)
                sides = self.states[key] = ([], [])
            sides[slot].append(record)

    def end(self) -> None:
        flowing = Flowing(self._out)
        for key, (left, right) in self.states.items():
            if self._how is None:
                flowing.add([Result(key, (left, right))])
            else:
                flowing.add(Result(key, pair) for pair in pairs(left, right, self._how))
        flowing.flush()
        self.states.clear()


def pairs(left: list[Any], right: list[Any], how: How) -> Iterable[tuple[Any, Any]]:
    """Each pair of two sides; None where one is missing that `how` does without."""
    lefts = left or ([None] if how in ("right", "outer") else [])
    rights = right or ([None] if how in ("left", "outer") else [])
    return ((one, other) for one in lefts for other in rights)
