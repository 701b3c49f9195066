"""What a task goes on with: its share of a checkpoint under another plan, and what others hand over."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.tasks.keeping import PREFIX, Keeper, complete, parts, plan_with, saved_in
from support.tasks.plans import plan_of
from support.tasks.shelf import Shelf

from heronpy import Bolt, KeyNotOwned, Spout
from heronpy.instances.saving.state import NOTES, Saver, TaskState, load_checkpoint, load_handovers
from heronpy.instances.saving.state.encoding import encode_whole
from heronpy.kernel.errors import CheckpointDamaged, TopologyError
from heronpy.kernel.plans import PhysicalPlan
from heronpy.kernel.plans.group_owners import contiguous
from heronpy.kernel.tree.update import Handover
from heronpy.state import StatefulComponent

WORDS = {f"word{number}": number for number in range(100)}


class Opaque(Bolt, StatefulComponent):
    """Saved as a whole."""


def task_of(plan: PhysicalPlan, word: str) -> int:
    return plan.key_groups["count"][TaskState(plan, 2, Bolt).group_of(word)]


def keepers(plan: PhysicalPlan, shelf: Shelf) -> dict[int, Keeper]:
    """All tasks of count, with the words that are theirs."""
    made = {task.id: Keeper(plan, task.id, shelf=shelf) for task in plan.tasks_of("count")}
    for word, number in WORDS.items():
        made[task_of(plan, word)].state[word] = number
    return made


@given(before=st.integers(1, 6), after=st.integers(1, 6))
@settings(deadline=None)
def test_a_checkpoint_is_shared_out_by_the_plan_in_force(before: int, after: int) -> None:
    shelf, plan, now = Shelf(), plan_with(32, before), plan_with(32, after)
    made = keepers(plan, shelf)
    ref = complete(
        shelf, plan, {task: keeper.save(1, {"rows": b"%d" % task}) for task, keeper in made.items()}
    )
    for keeper in made.values():
        keeper.saver.close()
    together: dict[str, int] = {}
    rows: list[bytes] = []
    for task in now.tasks_of("count"):
        state, saved = TaskState(now, task.id, Bolt), load_checkpoint(shelf, ref, now, task.id)
        state.restore(saved)
        assert {task_of(now, word) for word in state.open()} <= {task.id}
        together.update(state.open())
        rows += [extras["rows"] for extras in saved.extras]
        if task.index < before:
            assert saved.extras[0] == {"rows": b"%d" % task.id}, "its own come first"
    assert together == WORDS
    assert sorted(rows) == sorted(b"%d" % task for task in made), "those of tasks that are no more as well"


def test_a_restored_task_writes_only_what_changes_after_that() -> None:
    first = Keeper(plan_with(8))
    first.state.update(WORDS)
    saved = saved_in(first, first.save(1))
    first.saver.close()
    second = Keeper(first.plan, shelf=first.shelf, incarnation=2)
    second.task_state.restore(saved)
    second.state["word7"] = -7
    changed = second.task_state.group_of("word7")
    assert [(part.object, part.groups) for part in parts(second.save(2))] == [
        (f"{PREFIX}/1/2-1", tuple(group for group in range(8) if group != changed)),
        (f"{PREFIX}/2/2-2", (changed,)),
    ]
    second.saver.close()


def test_a_topology_that_begins_with_anothers_checkpoint_does_not_lean_on_it() -> None:
    """Whoever owns that checkpoint may delete it."""
    first = Keeper(plan_with(8))
    first.state.update(WORDS)
    saved = saved_in(first, first.save(1))
    first.saver.close()
    second = Keeper(first.plan, shelf=first.shelf)
    second.task_state.restore(saved)
    saver = Saver(
        second.task_state,
        lambda: second.shelf,
        "wordcount/x2",
        lambda stored, kind: second.reports.put((stored, kind)),
        1,
        lambda: 0.0,
    )
    saver.snapshot(1, 0, {})
    while saver.work():
        pass
    (stored, _) = second.reports.get(timeout=30)
    saver.close()
    assert [(part.object, part.groups) for part in parts(stored)] == [("wordcount/x2/1/2-1", tuple(range(8)))]


def test_a_state_that_is_not_keyed_goes_by_the_index_of_its_task() -> None:
    shelf, plan = Shelf(), plan_with(8, 3)
    reports = {}
    for task in plan.tasks_of("count"):
        keeper = Keeper(plan, task.id, Opaque, shelf)
        keeper.state["index"] = task.index
        reports[task.id] = keeper.save(1)
        keeper.saver.close()
    ref = complete(shelf, plan, reports)
    now = plan_with(8, 4)
    for task in now.tasks_of("count"):
        state = TaskState(now, task.id, Opaque)
        state.restore(load_checkpoint(shelf, ref, now, task.id))
        assert dict(state.open()) == ({"index": task.index} if task.index < 3 else {})
    fewer = plan_with(8, 1)
    saved = load_checkpoint(shelf, ref, fewer, 2)
    assert saved.extras == [], "nobody can tell how to put two of them together"


def test_notes_go_to_the_same_task_and_to_no_other() -> None:
    shelf, plan = Shelf(), plan_with(32, 3)
    made = keepers(plan, shelf)
    notes = {task: {NOTES: encode_whole(f"of task {task}")} for task in made}
    ref = complete(shelf, plan, {task: keeper.save(1, notes[task]) for task, keeper in made.items()})
    for keeper in made.values():
        keeper.saver.close()
    now = plan_with(32, 2)
    loaded = [load_checkpoint(shelf, ref, now, task.id) for task in now.tasks_of("count")]
    assert [saved.notes for saved in loaded] == [f"of task {task.id}" for task in now.tasks_of("count")]
    assert [saved.extras for saved in loaded] == [[], []]


@pytest.mark.parametrize("damage", ["changed", "cut short", "gone"])
def test_a_damaged_object_is_never_restored(damage: str) -> None:
    keeper = Keeper(plan_with(8))
    keeper.state.update(WORDS)
    stored = keeper.save(1)
    keeper.saver.close()
    name, objects = stored.parts[0].object, keeper.shelf.objects
    data = objects.pop(name)
    if damage != "gone":
        objects[name] = data[:-1] if damage == "cut short" else data[:-1] + bytes([data[-1] ^ 1])
    with pytest.raises(CheckpointDamaged, match=f"object {name} "):
        saved_in(keeper, stored)


def test_another_number_of_key_groups_is_refused() -> None:
    keeper = Keeper(plan_with(8))
    keeper.state.update(WORDS)
    ref = complete(keeper.shelf, keeper.plan, {2: keeper.save(1)})
    keeper.saver.close()
    with pytest.raises(TopologyError) as caught:
        load_checkpoint(keeper.shelf, ref, plan_with(16), 2)
    assert str(caught.value) == (
        "checkpoint 1 of 'wordcount' has 8 key groups, and topology 'wordcount' has 16"
        " (try: set topology.key.groups to 8)"
    )


def split_plan(par: int, *splits: str) -> PhysicalPlan:
    """words (tasks 1, 2, …) reads splits, and nobody reads words."""
    plan = plan_of(spouts=par)
    words = msgspec.structs.replace(plan.logical.component("words"), splits=splits)
    logical = msgspec.structs.replace(plan.logical, components=(words,))
    tasks = tuple(task for task in plan.tasks if task.component == "words")
    owners = contiguous([task.id for task in tasks], len(splits))
    return msgspec.structs.replace(plan, logical=logical, tasks=tasks, key_groups={"words": owners})


def test_positions_follow_their_splits_by_name() -> None:
    shelf, plan = Shelf(), split_plan(2, "a", "b", "c", "d")
    reports = {}
    for task, positions in {1: {"a": 10, "b": 20}, 2: {"c": 30, "d": 40}}.items():
        keeper = Keeper(plan, task, Spout, shelf)
        keeper.state.update(positions)
        reports[task] = keeper.save(1)
        keeper.saver.close()
    now = split_plan(3, "d", "new", "b", "a")
    found = {}
    for reader in now.tasks:
        state = TaskState(now, reader.id, Spout)
        state.restore(load_checkpoint(shelf, complete(shelf, plan, reports), now, reader.id))
        found[reader.id] = dict(state.open())
    assert found == {1: {"d": 40}, 2: {"b": 20}, 3: {"a": 10}}, "where 'c' has gone its position has too"


def test_a_change_of_plan_moves_groups_and_nothing_else() -> None:
    """From one task to two: hand over, load aside, go by the new plan, take and drop."""
    plan, now = plan_with(8, 1), plan_with(8, 2)
    old, new = Keeper(plan), TaskState(now, 3, Bolt)
    old.state.update(WORDS)
    old.save(1)
    moved = [group for group, owner in enumerate(now.key_groups["count"]) if owner == 3]
    old.saver.hand_over(2, 0, moved, {"rows": b"mine"})
    handovers = [Handover(2, parts(old.finish())), Handover(99, ())]
    saved = load_handovers(old.shelf, handovers, dict.fromkeys(moved, 2), task_id=3)
    assert (saved.extras, saved.ledger) == ([], {}), "handed over is not saved: those objects go away"
    new.restore(saved)
    mine = next(word for word in WORDS if task_of(now, word) == 3)
    assert old.state.get(mine) == WORDS[mine]
    old.task_state.use_plan(now)
    old.task_state.drop(moved)
    assert {**old.state, **new.open()} == WORDS
    assert {task_of(now, word) for word in old.state} == {2}
    with pytest.raises(KeyNotOwned):
        old.state.get(mine)
    stored = old.save(2)
    assert {group for part in parts(stored) for group in part.groups}.isdisjoint(moved)
    old.saver.close()


def test_the_last_key_that_was_ours_is_checked_again_after_a_change_of_plan() -> None:
    keeper, now = Keeper(plan_with(8, 1)), plan_with(8, 2)
    theirs = next(word for word in WORDS if task_of(now, word) == 3)
    assert keeper.state.get(theirs) is None
    keeper.task_state.use_plan(now)
    with pytest.raises(KeyNotOwned):
        keeper.state[theirs] = 1


def test_a_task_that_restarts_hands_everything_to_itself() -> None:
    plan = plan_with(8)
    for cls in (Bolt, Opaque):
        old = Keeper(plan, cls=cls)
        old.state.update(WORDS)
        old.saver.hand_over(2, 0, range(8), {"rows": b"r"}, whole=True)
        handovers = [Handover(2, parts(old.finish()))]
        old.saver.close()
        saved = load_handovers(old.shelf, handovers, dict.fromkeys(range(8), 2), [2], task_id=2)
        state = TaskState(plan, 2, cls)
        state.restore(saved)
        assert (dict(state.open()), saved.extras) == (WORDS, [{"rows": b"r"}])


def test_a_snapshot_that_a_change_of_plan_comes_across_is_given_up() -> None:
    keeper = Keeper(plan_with(8))
    keeper.state.update(WORDS)
    keeper.saver.snapshot(1, 0, {})
    keeper.task_state.drop([3])
    assert keeper.finish().error == "the state was replaced by another meanwhile"
    assert {part for found in parts(keeper.save(2)) for part in found.groups} == {0, 1, 2, 4, 5, 6, 7}
    keeper.saver.close()


def test_splits_are_others_after_a_change_of_plan() -> None:
    class Reader(Spout):
        pass

    reader = Reader.__new__(Reader)
    state = TaskState(split_plan(1, "a", "b"), 1, Reader)
    state.attach(reader)
    seen = [vars(reader)["splits"]]
    state.use_plan(split_plan(2, "a", "b"))
    seen.append(vars(reader)["splits"])
    assert seen == [("a", "b"), ("a",)]
