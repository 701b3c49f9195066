"""What a task says that it keeps."""

from __future__ import annotations

from typing import Any

import msgspec
from support.tasks.plans import edge, plan_of

from heronpy import BasicBolt, Bolt
from heronpy.component import make_component
from heronpy.instances.saving.state import Saved, TaskState
from heronpy.instances.saving.state.encoding import encode_whole
from heronpy.kernel.plans import PhysicalPlan
from heronpy.kernel.state_transfer import KeptState, held_of
from heronpy.transactions import TransactionalSink

#: task 1 is the spout
BOLT = 2


class Delegate:
    logger = None

    def __init__(self, state: TaskState) -> None:
        self.open_state = state.open


def task_of(cls: type[Any], plan: PhysicalPlan) -> tuple[Any, TaskState]:
    state = TaskState(plan, BOLT, cls)
    component = make_component(cls, Delegate(state))
    state.attach(component)
    return component, state


def held(state: TaskState) -> KeptState:
    return held_of(state.held())


SHUFFLED = plan_of(edge("shuffle"))


def test_entries_count_by_keys_or_for_the_task() -> None:
    for grouping, expected in (
        (edge("fields", "word"), KeptState(keyed=2, used=True)),
        (edge("shuffle"), KeptState(own=2, used=True)),
    ):
        component, state = task_of(BasicBolt, plan_of(grouping))
        assert held(state) == KeptState()
        component.state.update(a=1, b=2)
        assert held(state) == expected


def test_a_state_that_was_only_looked_at_holds_nothing() -> None:
    component, state = task_of(Bolt, SHUFFLED)
    assert component.state.get("n") is None
    assert (held(state), state.whole()) == (KeptState(used=True), None)


def test_attributes_are_named_until_the_state_is_used() -> None:
    component, state = task_of(Bolt, SHUFFLED)
    component.counts, component.state = {}, {"mine": 1}
    assert held(state) == KeptState(attributes=("state", "counts"))
    component, state = task_of(Bolt, SHUFFLED)
    component.counts = {}
    component.state["n"] = 1
    assert held(state) == KeptState(own=1, used=True)


def test_a_transactional_sink_hands_over_what_its_attributes_have() -> None:
    class Sink(TransactionalSink, Bolt):
        pass

    component, state = task_of(Sink, SHUFFLED)
    component.rows = [1]
    assert held(state) == KeptState()


def test_what_a_restore_would_bring_back_is_kept_until_a_checkpoint_without_it_is_complete() -> None:
    logical = msgspec.structs.replace(SHUFFLED.logical, reliability="effectively_once")
    component, state = task_of(Bolt, msgspec.structs.replace(SHUFFLED, logical=logical))
    state.restore(Saved(state=encode_whole({"a": 1, "b": 2})))
    component.state.clear()
    assert held(state).own == 2
    component.state["c"] = 3
    state.note_snapshot(1)
    component.state.clear()
    state.forget_before(1)
    assert held(state).own == 1
    state.note_snapshot(2)
    assert held(state).own == 1
    state.forget_before(2)
    assert held(state).own == 0


def test_a_task_that_goes_on_alone_is_not_brought_back() -> None:
    component, state = task_of(Bolt, SHUFFLED)
    state.restore(Saved(state=encode_whole({"a": 1})))
    component.state.clear()
    assert held(state).own == 0
