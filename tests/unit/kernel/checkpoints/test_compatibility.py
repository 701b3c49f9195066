"""Which topology can go on with which checkpoint, and the one line that says why not."""

from __future__ import annotations

from typing import Any

import pytest

from heronpy.kernel.checkpoints.compatibility import check_compatible, dropped, without
from heronpy.kernel.checkpoints.manifest import Manifest, SavedTask
from heronpy.kernel.checkpoints.stored import StoredPart
from heronpy.kernel.errors import UserError
from heronpy.kernel.plans import Component, DeclaredGrouping, DeclaredStream, Input, LogicalPlan

KEYED = StoredPart("a", "", 1, groups=(1, 2))
OPAQUE = StoredPart("b", "", 1, whole=True, opaque=True, entries=4)
EXTRAS = StoredPart("c", "", 1, whole=True)

BY_WORD = Input("words", "default", DeclaredGrouping("fields", ("word",)))
SHUFFLED = Input("words", "default", DeclaredGrouping("shuffle"))


def manifest(**parts: StoredPart) -> Manifest:
    """One task of words, two of count, one of sink, each with what it has saved."""
    members = (("words", 0), ("count", 0), ("count", 1), ("sink", 0))
    tasks = tuple(
        SavedTask(task, name, index, (parts[name],) if name in parts else ())
        for task, (name, index) in enumerate(members, 1)
    )
    return Manifest(topology="old", execution="e", id=7, key_groups=256, tasks=tasks)


def plan(
    count: int = 2, edge: Input = BY_WORD, key_groups: int = 256, by_task: bool = False, **of_words: Any
) -> LogicalPlan:
    words = Component(
        "words", "spout", "m.Words", 1, outputs=(DeclaredStream("default", ("word",)),), **of_words
    )
    counter = Component("count", "bolt", "m.Count", count, (edge,), state_by_task=by_task)
    return LogicalPlan("new", (words, counter), key_groups=key_groups)


def refusal(saved: Manifest, topology: LogicalPlan, *, drop: bool = False) -> str:
    with pytest.raises(UserError) as refused:
        check_compatible("old@7", saved, topology, drop=drop)
    return str(refused.value)


@pytest.mark.parametrize("parallelism", [1, 2, 4])
def test_state_by_keys_fits_any_parallelism(parallelism: int) -> None:
    check_compatible("old@7", manifest(count=KEYED, words=EXTRAS), plan(parallelism))


def test_the_number_of_key_groups_cannot_change() -> None:
    assert refusal(manifest(count=KEYED), plan(key_groups=128)) == (
        "checkpoint old@7 has 256 key groups, and topology 'new' has 128: the number cannot change"
        " (try: set topology.key.groups: 256 in its config)"
    )


def test_state_without_a_component_is_dropped_only_when_that_is_wanted() -> None:
    saved = manifest(count=KEYED, sink=KEYED)
    assert refusal(saved, plan()) == (
        "checkpoint old@7 has state of 'sink', which topology 'new' does not have (known: count, words)"
        " (try: pass --allow-dropped-state if that state is no longer needed)"
    )
    check_compatible("old@7", saved, plan(), drop=True)
    assert dropped(saved, plan()) == ["sink"]
    kept = without(saved, ["sink"])
    assert {task.component: task.parts for task in kept.tasks} == {
        "words": (),
        "count": (KEYED,),
        "sink": (),
    }


def test_a_component_that_had_no_state_may_go() -> None:
    check_compatible("old@7", manifest(count=KEYED, sink=EXTRAS), plan())
    assert dropped(manifest(count=KEYED, sink=EXTRAS), plan()) == []


def test_state_by_keys_needs_a_component_that_still_reads_by_keys() -> None:
    reason = refusal(manifest(count=KEYED), plan(edge=SHUFFLED))
    assert reason.startswith("checkpoint old@7 has state by keys of 'count', which reads nothing by fields")


def test_a_state_for_each_task_does_not_follow_keys() -> None:
    saved = manifest(count=OPAQUE)
    check_compatible("old@7", saved, plan(2, by_task=True))
    assert refusal(saved, plan(3, by_task=True)) == (
        "checkpoint old@7 has 2 instances of 'count' and not 3: state of count[0] (4 entries), count[1]"
        " (4 entries) is kept by task and does not move with its keys"
        " (try: set parallelism 2, or pass --allow-dropped-state if that state is no longer needed)"
    )
    check_compatible("old@7", saved, plan(3, by_task=True), drop=True)
    assert dropped(saved, plan(3, by_task=True)) == ["count"]


def test_by_shuffle_tasks_may_be_added_and_none_may_end_with_its_state() -> None:
    saved = manifest(count=OPAQUE)
    check_compatible("old@7", saved, plan(3, SHUFFLED))
    assert dropped(saved, plan(3, SHUFFLED)) == []
    assert refusal(saved, plan(1, SHUFFLED)).startswith(
        "checkpoint old@7 has 2 instances of 'count' and not 1: state of count[1] (4 entries) belongs to no"
        " key and ends with its task (try: set parallelism 2"
    )


def test_a_checkpoint_that_does_not_tell_how_many_entries_is_refused_as_well() -> None:
    saved = manifest(count=StoredPart("b", "", 1, whole=True, opaque=True))
    assert "state of count[1] belongs to no key and ends with its task" in refusal(saved, plan(1, SHUFFLED))


def test_a_class_decides_how_its_state_is_kept_and_must_not_change_its_mind() -> None:
    assert "a state for each task of 'count', which keeps its state by keys now" in refusal(
        manifest(count=OPAQUE), plan(2)
    )
    assert "state by keys of 'count', which keeps a state for each task now" in refusal(
        manifest(count=KEYED), plan(2, by_task=True)
    )


def test_old_splits_must_be_there_and_new_ones_may() -> None:
    saved = Manifest(topology="old", execution="e", id=7, key_groups=256, splits={"words": ("a", "b")})
    check_compatible("old@7", saved, plan(splits=("c", "b", "a")))
    assert refusal(saved, plan(splits=("a", "c")), drop=True).startswith(
        "checkpoint old@7 has a position in split 'b' of 'words', which topology 'new' does not have"
    )
