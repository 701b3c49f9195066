"""Keyed state: a dict for the keys that fields grouping brings here, and an error for all others."""

from __future__ import annotations

import datetime as dt
import time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from support.tasks.plans import edge, plan_of

from heronpy import Bolt, KeyNotOwned, UserError
from heronpy.errors import DefinitionError
from heronpy.instances.output.groupings.fields import Fields
from heronpy.instances.saving.state import TaskState
from heronpy.instances.saving.state.keyed import KeyedState
from heronpy.kernel.plans import PhysicalPlan
from heronpy.state import HashMapState, State, StatefulComponent

KEYS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.decimals(allow_nan=False),
    st.text(),
    st.binary(),
    st.dates(),
    st.uuids(),
    st.tuples(st.text(), st.integers()),
)
#: every way to touch a key
TOUCHES: dict[str, Any] = {
    "get": lambda state, key: state.get(key),
    "[]": lambda state, key: state[key],
    "set": lambda state, key: state.__setitem__(key, 1),
    "del": lambda state, key: state.__delitem__(key),
    "in": lambda state, key: key in state,
    "pop": lambda state, key: state.pop(key, None),
    "setdefault": lambda state, key: state.setdefault(key, 1),
    "update": lambda state, key: state.update({key: 1}),
    "put": lambda state, key: state.put(key, 1),
}


def plan_by(*fields: str, par: int = 3) -> PhysicalPlan:
    return plan_of(edge("fields", *fields), par=par)


def state_of(plan: PhysicalPlan, task_id: int, cls: type) -> HashMapState:
    return TaskState(plan, task_id, cls).open()


def task_for(plan: PhysicalPlan, row: tuple[Any, ...], *fields: str) -> int:
    """Where the emitter's grouping sends a row of (word, n)."""
    lanes = {task.id: task.id for task in plan.tasks_of("count")}
    return Fields(lanes, plan.key_groups["count"], fields, ("word", "n"), "the test").targets(row)[0]


@given(key=KEYS, par=st.integers(1, 9), touch=st.sampled_from(sorted(TOUCHES)))
def test_a_key_is_taken_exactly_where_its_tuples_go(key: Any, par: int, touch: str) -> None:
    plan = plan_by("word", par=par)
    owner = task_for(plan, (key, 0), "word")
    for task in plan.tasks_of("count"):
        state = state_of(plan, task.id, Bolt)
        if task.id == owner:
            state[key] = 1
            assert (state.get(key), list(state)) == (1, [key])
            TOUCHES[touch](state, key)
        else:
            with pytest.raises(KeyNotOwned):
                TOUCHES[touch](state, key)
            assert dict(state) == {}


@given(word=st.text(), n=st.integers(), par=st.integers(1, 9))
def test_several_fields_are_a_tuple(word: str, n: int, par: int) -> None:
    plan = plan_by("n", "word", par=par)
    owner = task_for(plan, (word, n), "n", "word")
    state = state_of(plan, owner, Bolt)
    state[n, word] = "kept"
    assert dict(state) == {(n, word): "kept"}


class AsADict(RuleBasedStateMachine):
    """One task of three: it does what a dict does, as long as the keys are its own."""

    def __init__(self) -> None:
        super().__init__()
        self.plan = plan_by("word")
        self.state = state_of(self.plan, 3, Bolt)
        self.model: dict[Any, Any] = {}

    @rule(
        key=st.integers(0, 30) | st.floats(0, 30).map(round).map(float),
        touch=st.sampled_from(sorted(TOUCHES)),
    )
    def touch(self, key: Any, touch: str) -> None:
        if task_for(self.plan, (key, 0), "word") == 3:
            self._both(TOUCHES[touch] if touch != "put" else TOUCHES["set"], key)
        else:
            with pytest.raises(KeyNotOwned):
                TOUCHES[touch](self.state, key)

    @rule()
    def popitem(self) -> None:
        self._both(lambda mapping, _: mapping.popitem(), None)

    @rule()
    def clear(self) -> None:
        self._both(lambda mapping, _: mapping.clear(), None)

    def _both(self, step: Any, key: Any) -> None:
        outcomes: list[Any] = []
        for mapping in (self.state, self.model):
            try:
                outcomes.append(step(mapping, key))
            except KeyError:
                outcomes.append(KeyError)
        assert outcomes[0] == outcomes[1]

    @invariant()
    def same(self) -> None:
        assert self.state == self.model
        assert list(self.state.items()) == list(self.model.items())
        assert (len(self.state), bool(self.state)) == (len(self.model), bool(self.model))
        assert list(map(type, self.state)) == list(map(type, self.model))


TestAsADict = AsADict.TestCase


@pytest.mark.parametrize(
    "equal",
    [
        [1, 1.0, True, Decimal("1.0")],
        [("a", 0), ("a", False)],
        [
            dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC),
            dt.datetime(2024, 1, 1, 14, tzinfo=dt.timezone(dt.timedelta(hours=2))),
        ],
    ],
    ids=repr,
)
def test_equal_keys_are_one_key(equal: list[Any]) -> None:
    plan = plan_by("word")
    (owner,) = {task_for(plan, (key, 0), "word") for key in equal}
    state = state_of(plan, owner, Bolt)
    for key in equal:
        state[key] = state.get(key, 0) + 1
    assert list(state.items()) == [(equal[0], len(equal))]


def test_a_foreign_key_is_explained_and_passes_for_nothing_else() -> None:
    state = state_of(plan_by("word"), 2, Bolt)
    with pytest.raises(KeyNotOwned) as caught:
        state.get("heron")
    assert str(caught.value) == (
        "key 'heron' is in key group 227, which belongs to count[2] and not to count[0]"
        " (try: use self.state[tup['word']], for tuples that come by fields grouping)"
    )
    assert isinstance(caught.value, UserError)
    assert not isinstance(caught.value, LookupError)


def test_a_foreign_key_that_python_does_not_print_is_explained_too() -> None:
    plan = plan_by("word")
    foreign = next(key for key in range(10**9000, 10**9000 + 99) if task_for(plan, (key, 0), "word") != 2)
    with pytest.raises(KeyNotOwned, match=r"^key a int whose repr failed \(ValueError\) is in key group "):
        state_of(plan, 2, Bolt).get(foreign)
    long = next(
        key for key in map(str, range(10**4000, 10**4000 + 99)) if task_for(plan, (key,), "word") != 2
    )
    with pytest.raises(KeyNotOwned) as caught:
        state_of(plan, 2, Bolt).get(long)
    assert len(str(caught.value)) < 700


@pytest.mark.parametrize("key", ["heron", ("heron",), ("heron", 1, 2)], ids=repr)
def test_a_key_of_another_shape_is_explained(key: Any) -> None:
    with pytest.raises(KeyNotOwned) as caught:
        state_of(plan_by("word", "n", par=1), 2, Bolt).get(key)
    assert str(caught.value) == (
        f"{key!r} is no key of count[0]: its input is grouped by word, n, so its keys are tuples of 2"
        " (try: self.state[tup['word'], tup['n']])"
    )


def test_a_value_that_can_be_no_key_is_refused_even_where_all_keys_are_owned() -> None:
    state = state_of(plan_by("word", par=1), 2, Bolt)
    with pytest.raises(TypeError, match="a frozenset cannot be a key"):
        state[frozenset()] = 1


def test_clearing_a_large_state_key_by_key_takes_no_time() -> None:
    state = state_of(plan_by("word", par=1), 2, Bolt)
    state.update((number, number) for number in range(50_000))
    begun = time.process_time()
    while state:
        state.popitem()
    assert time.process_time() - begun < 1.0


class Opaque(Bolt, StatefulComponent):
    """As Apache Heron's."""


class Keyed(Bolt, StatefulComponent):
    keyed = True


def test_state_is_keyed_where_there_is_a_key_and_opaque_elsewhere() -> None:
    by_fields, shuffled = plan_by("word"), plan_of(edge("shuffle"), par=3)
    kinds = {
        (plan.key_groups != {}, cls): type(state_of(plan, 2, cls))
        for plan, cls in [(by_fields, Bolt), (by_fields, Opaque), (by_fields, Keyed), (shuffled, Bolt)]
    }
    assert kinds == {
        (True, Bolt): KeyedState,
        (True, Opaque): HashMapState,
        (True, Keyed): KeyedState,
        (False, Bolt): HashMapState,
    }
    spout = state_of(by_fields, 1, Bolt)
    spout["position"] = 5
    assert (type(spout), dict(spout)) == (HashMapState, {"position": 5})


def test_keyed_state_is_also_apaches() -> None:
    plan = plan_by("word", par=1)
    state = state_of(plan, 2, Keyed)
    assert isinstance(state, State)
    state.put("a", 1)
    state.put("b", 2)
    assert (state.get("a"), list(state.enumerate()), str(state)) == (
        1,
        [(0, "a"), (1, "b")],
        "{'a': 1, 'b': 2}",
    )


def test_a_stateful_component_cannot_be_keyed_without_a_key() -> None:
    with pytest.raises(DefinitionError, match="Keyed has keyed = True, but 'count' reads nothing by fields"):
        state_of(plan_of(edge("shuffle")), 2, Keyed)


def test_inputs_must_agree_on_the_length_of_the_key() -> None:
    mixed = plan_of(
        edge("fields", "word"), edge("fields", "word", "n", stream="more"), edge("all", stream="all")
    )
    with pytest.raises(
        DefinitionError,
        match=r"'count' cannot use self.state: it groups 'words' by word and 'words' by word, n, and these",
    ):
        state_of(mixed, 2, Bolt)
    alike = plan_of(edge("fields", "word"), edge("fields", "n", stream="more"), edge("all", stream="all"))
    state = state_of(alike, 2, Bolt)
    state["a"] = 1
    assert dict(state) == {"a": 1}
