"""Steps with a state for each key: process, rolling, dedup."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, MutableMapping, Sequence
from typing import Any, Protocol, TypeAlias

from heronpy.kernel.flow.keys import encode_key
from heronpy.operators.failing import Failing, StepFailed
from heronpy.operators.flowing import Flowing, Out
from heronpy.pipeline.agg import Aggregate
from heronpy.pipeline.graph import ProcessOp
from heronpy.pipeline.records import Context

NEW: Any = object()
#: types whose values are keys, whatever they are
_PLAIN = frozenset({str, int, bytes, bool, type(None)})

#: what a step keeps: key → its state. A dict, or the mapping that a runner saves and moves
States: TypeAlias = MutableMapping[Hashable, Any]


class Keeper(Protocol):
    """A step that keeps something between records: in `states`, by key, and nowhere else."""

    states: States

    def take(self, slot: int, rows: Sequence[Any]) -> None:
        """Rows of an input: pairs of key and record where the step is keyed."""

    def end(self) -> None:
        """There will be no more rows on any input."""


def checked_key(key: Hashable, failing: Failing) -> None:
    """Refuses, at the first record of a key, what not every runner could route."""
    if type(key) in _PLAIN:
        return
    try:
        encode_key(key)
    except TypeError as error:
        raise failing.for_key(error, key) from error


class Processing:
    """The user's function with a state for each key."""

    def __init__(
        self, op: ProcessOp, out: Out, sides: Mapping[str, Out], failing: Failing, states: States
    ) -> None:
        self._make, self._fn = op.state, op.fn
        self._out, self._sides, self._failing, self.states = out, sides, failing, states
        self._aside: dict[str, list[Any]] = {name: [] for name in sides}
        self._context: Context[Any] = Context(self._side, self._forget)

    def take(self, slot: int, rows: Sequence[Any]) -> None:  # noqa: ARG002 - has one side
        run = self._tolerant if self._failing.tolerant else self._strict
        flowing = Flowing(self._out)
        for key, record in rows:
            state = self.states.get(key, NEW)
            if state is NEW:
                state = self._begin(key, record)
            self._context.key = key
            run(state, record, flowing)
        flowing.flush()
        for name, values in self._aside.items():
            if values:
                self._aside[name] = []
                self._sides[name](values)

    def end(self) -> None:
        self.states.clear()

    def _begin(self, key: Hashable, record: object) -> Any:
        checked_key(key, self._failing)
        try:
            state = self.states[key] = self._make()
        except Exception as error:
            raise self._failing.on(error, record) from error
        return state

    def _strict(self, state: Any, record: Any, flowing: Flowing) -> None:
        try:
            flowing.add(self._fn(state, record, self._context))
        except StepFailed:
            raise
        except Exception as error:
            raise self._failing.on(error, record) from error

    def _tolerant(self, state: Any, record: Any, flowing: Flowing) -> None:
        """Nothing that was made of a record stays; what its function did to the state does."""
        before = {name: len(values) for name, values in self._aside.items()}
        try:
            made = list(self._fn(state, record, self._context))
        except Exception as error:
            for name, length in before.items():
                del self._aside[name][length:]
            self._failing.leave(error, record)
        else:
            flowing.add(made)

    def _side(self, name: str, value: object) -> None:
        if (values := self._aside.get(name)) is not None:
            values.append(value)

    def _forget(self) -> None:
        self.states.pop(self._context.key, None)


class Rolling:
    """The aggregate of a key so far, after each record."""

    def __init__(
        self, aggregate: Aggregate[Any, Any, Any], out: Out, failing: Failing, states: States
    ) -> None:
        self._create, self._add, self._finish = aggregate.create, aggregate.add, aggregate.finish
        self._out, self._failing, self.states = out, failing, states

    def take(self, slot: int, rows: Sequence[Any]) -> None:  # noqa: ARG002 - has one side
        made = []
        for key, record in rows:
            state = self.states.get(key, NEW)
            if state is NEW:
                checked_key(key, self._failing)
                state = self._create()
            try:
                state = self.states[key] = self._add(state, record)
                made.append((key, self._finish(state)))
            except Exception as error:
                raise self._failing.on(error, record) from error
        self._out(made)

    def end(self) -> None:
        self.states.clear()


class Deduplicating:
    """The first record of each key."""

    def __init__(self, out: Out, failing: Failing, states: States) -> None:
        self._out, self._failing, self.states = out, failing, states

    def take(self, slot: int, rows: Sequence[Any]) -> None:  # noqa: ARG002 - has one side
        first = []
        for key, record in rows:
            if key not in self.states:
                checked_key(key, self._failing)
                self.states[key] = None
                first.append(record)
        if first:
            self._out(first)

    def end(self) -> None:
        self.states.clear()
