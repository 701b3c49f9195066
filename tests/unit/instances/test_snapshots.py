"""Whatever happens to the state while it is saved, what is saved is the state as it was at the barrier."""

from __future__ import annotations

import copy
import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from support.tasks.keeping import Keeper, parts, plan_with, restored

KEYS = st.one_of(
    st.integers(0, 15),
    st.integers(0, 5).map(float),
    st.booleans(),
    st.sampled_from(
        [None, "a", "b", b"a", ("a", 1), ("a", 1.0), dt.date(2026, 1, 1), Decimal(3), 2**70, "\ud800"]
    ),
)
SETTLED = st.one_of(
    st.none(), st.integers(), st.text(max_size=3), st.tuples(st.integers(), st.text(max_size=2))
)
MUTABLE = st.one_of(
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=2),
    st.binary(max_size=2).map(bytearray),
    st.tuples(st.lists(st.integers(), max_size=2)),
)


def change(value: Any) -> None:
    """In place, if that is possible."""
    if isinstance(value, list):
        value.append(1)
    elif isinstance(value, dict):
        value["changed"] = value.get("changed", 0) + 1
    elif isinstance(value, bytearray):
        value.append(1)
    elif isinstance(value, tuple) and value and isinstance(value[0], list):
        value[0].append(2)


def typed(items: dict[Any, Any]) -> set[str]:
    """Order aside, with the type of everything."""
    return {f"{key!r}: {value!r}" for key, value in items.items()}


#: ways to get hold of values; what they give is changed in place afterwards
GRABS: dict[str, Callable[[Any, Any], list[Any]]] = {
    "get": lambda state, key: [state.get(key)],
    "[]": lambda state, key: [state[key]],
    "pop": lambda state, key: [state.pop(key)],
    "popitem": lambda state, _: [state.popitem()[1]],
    "setdefault": lambda state, key: [state.setdefault(key, [])],
    "values": lambda state, _: list(state.values()),
    "items": lambda state, _: [value for _, value in state.items()],
    "clear": lambda state, _: [state.clear()],
    "dict": lambda state, _: list(dict(state).values()),
}


class Saving(RuleBasedStateMachine):
    """A state and a plain dict that go through the same; sometimes the first is saved meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self.keeper = Keeper(plan_with(4))
        self.model: dict[Any, Any] = {}
        self.checkpoint = 0
        #: a copy of the model, made at the barrier of what is being saved
        self.at_barrier: dict[Any, Any] | None = None
        self.handing_over = False

    def teardown(self) -> None:
        self.keeper.shelf.open.set()
        self.keeper.saver.close()

    def both(self, act: Callable[[Any], list[Any]]) -> None:
        outcomes: list[Any] = []
        for mapping in (self.keeper.state, self.model):
            try:
                values = act(mapping)
                for value in values:
                    change(value)
                outcomes.append(values)
            except KeyError:
                outcomes.append(KeyError)
        assert outcomes[0] == outcomes[1]

    @rule(key=KEYS, value=SETTLED | MUTABLE)
    def put(self, key: Any, value: Any) -> None:
        self.keeper.state[key] = value
        self.model[key] = copy.deepcopy(value)

    @rule(items=st.dictionaries(KEYS, MUTABLE, max_size=30))
    def update(self, items: dict[Any, Any]) -> None:
        self.keeper.state.update(items)
        self.model.update(copy.deepcopy(items))

    @rule(key=KEYS, grab=st.sampled_from(sorted(GRABS)))
    def grab(self, key: Any, grab: str) -> None:
        self.both(lambda mapping: GRABS[grab](mapping, key))

    @rule(key=KEYS)
    def delete(self, key: Any) -> None:
        self.both(lambda mapping: [mapping.__delitem__(key)])

    @rule(key=KEYS, times=st.integers(60, 70))
    def come_and_go(self, key: Any, times: int) -> None:
        for number in range(times):
            self.put(key, number)
            self.delete(key)

    @rule(refused=st.booleans())
    def store_refuses(self, refused: bool) -> None:
        self.keeper.shelf.refusal = "disk full" if refused else ""

    @rule()
    def snapshot(self) -> None:
        """Begun while another is being encoded, it ends that one."""
        self.checkpoint += 1
        self.keeper.saver.snapshot(self.checkpoint, 0, {})
        self.at_barrier, self.handing_over = copy.deepcopy(self.model), False

    @rule()
    def hand_over(self) -> None:
        """What changes is counted on, as if there had been no handover."""
        self.checkpoint += 1
        self.keeper.saver.hand_over(self.checkpoint, 0, [0, 2], {})
        group_of = self.keeper.task_state.group_of
        self.at_barrier = {
            key: copy.deepcopy(value) for key, value in self.model.items() if group_of(key) in (0, 2)
        }
        self.handing_over = True

    @precondition(lambda self: self.at_barrier is not None)
    @rule()
    def work(self) -> None:
        if not self.keeper.saver.work():
            self.check(self.keeper.finish())

    @precondition(lambda self: self.at_barrier is not None)
    @rule()
    def finish(self) -> None:
        self.check(self.keeper.finish())

    @precondition(lambda self: self.at_barrier is not None)
    @rule()
    def abandon(self) -> None:
        self.keeper.saver.abandon()
        self.at_barrier = None

    def check(self, stored: Any) -> None:
        expected, self.at_barrier = self.at_barrier, None
        assert (stored.id, expected is not None) == (self.checkpoint, True)
        assert expected is not None
        if stored.error:
            assert (stored.error, self.keeper.shelf.refusal) == ("disk full", "disk full")
            return
        self.keeper.shelf.refusal = ""
        assert typed(restored(self.keeper, stored)) == typed(expected)
        if self.handing_over:
            assert all(part.object.startswith("wordcount/x1/update-") for part in parts(stored))

    @invariant()
    def the_task_notices_nothing(self) -> None:
        state = self.keeper.state._dict
        assert list(map(repr, state.items())) == list(map(repr, self.model.items()))


Saving.TestCase.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
TestSaving = Saving.TestCase
