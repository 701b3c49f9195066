"""What a task writes for each checkpoint, what it reports, and what comes of trouble with the store."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Iterator
from typing import Any

import pytest
from support.tasks.keeping import PREFIX, Keeper, parts, plan_with, restored, saved_in
from support.tasks.shelf import Shelf

from heronpy import Bolt, Tuple
from heronpy.instances.saving.state.keyed import CHUNK, CountedState, FrozenState, KeyedState
from heronpy.instances.saving.state.state_saver import BUDGET
from heronpy.state import StatefulComponent
from heronpy.tuple import tuple_class


class Opaque(Bolt, StatefulComponent):
    """Apache's: one state per task, saved as a whole."""


class Locked:
    """A value that cannot be pickled."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


@pytest.fixture
def keeper() -> Iterator[Keeper]:
    made = Keeper(plan_with(8))
    yield made
    made.shelf.open.set()
    made.saver.close()


def words_by_group(keeper: Keeper, count: int = 64) -> dict[int, list[str]]:
    groups: dict[int, list[str]] = {}
    for number in range(count):
        groups.setdefault(keeper.task_state.group_of(f"word{number}"), []).append(f"word{number}")
    assert len(groups) == 8
    return groups


def filled(keeper: Keeper) -> dict[int, list[str]]:
    groups = words_by_group(keeper)
    for words in groups.values():
        keeper.state.update(dict.fromkeys(words, 1))
    return groups


def groups_in(keeper: Keeper, stored: Any) -> dict[str, tuple[int, ...]]:
    return {part.object.removeprefix(f"{PREFIX}/"): part.groups for part in parts(stored)}


def test_only_groups_that_changed_are_written_again(keeper: Keeper) -> None:
    groups = filled(keeper)
    assert groups_in(keeper, keeper.save(1)) == {"1/2-1": tuple(range(8))}
    keeper.state[groups[3][0]] += 1
    del keeper.state[groups[5][0]]
    second = keeper.save(2)
    assert groups_in(keeper, second) == {"1/2-1": (0, 1, 2, 4, 6, 7), "2/2-1": (3, 5)}
    assert restored(keeper, second) == dict(keeper.state)
    third = keeper.save(3)
    assert groups_in(keeper, third) == {"1/2-1": (0, 1, 2, 4, 6, 7), "2/2-1": (3, 5)}
    assert keeper.shelf.names(f"{PREFIX}/3/") == [], "nothing changed, so there was nothing to write"


def test_a_list_that_was_only_looked_at_counts_as_changed_and_a_number_does_not(keeper: Keeper) -> None:
    groups = words_by_group(keeper)
    keeper.state.update({groups[1][0]: [1], groups[2][0]: 2})
    keeper.save(1)
    keeper.state[groups[1][0]].append(2)
    assert keeper.state[groups[2][0]] == 2
    stored = keeper.save(2)
    assert groups_in(keeper, stored) == {"1/2-1": (2,), "2/2-1": (1,)}
    assert restored(keeper, stored) == {groups[1][0]: [1, 2], groups[2][0]: 2}


def test_a_group_that_became_empty_does_not_come_back(keeper: Keeper) -> None:
    groups = filled(keeper)
    keeper.save(1)
    for word in groups[4]:
        del keeper.state[word]
    stored = keeper.save(2)
    assert groups_in(keeper, stored) == {"1/2-1": (0, 1, 2, 3, 5, 6, 7)}
    assert restored(keeper, stored) == dict(keeper.state)


def test_many_changes_are_not_counted_one_by_one(keeper: Keeper) -> None:
    kinds: list[type] = []
    filled(keeper)
    kinds.append(type(keeper.state))
    keeper.saver.snapshot(1, 0, {})
    kinds.append(type(keeper.state))
    keeper.finish()
    kinds.append(type(keeper.state))
    for number in range(33):  # more than four for each group
        keeper.state[f"word{number}"] = 2
    kinds.append(type(keeper.state))
    assert kinds == [KeyedState, FrozenState, CountedState, KeyedState]
    assert groups_in(keeper, keeper.save(2)) == {"2/2-1": tuple(range(8))}


def test_what_could_not_be_stored_is_written_the_next_time(keeper: Keeper) -> None:
    groups = filled(keeper)
    keeper.save(1)
    keeper.state[groups[3][0]] = 7
    keeper.shelf.refusal = "no space left\non the disk"
    failed = keeper.save(2)
    assert (failed.id, failed.error, list(failed.parts)) == (2, "no space left", [])
    keeper.shelf.refusal = ""
    stored = keeper.save(3)
    assert groups_in(keeper, stored) == {"1/2-1": (0, 1, 2, 4, 5, 6, 7), "3/2-1": (3,)}
    assert restored(keeper, stored) == dict(keeper.state)


def test_a_checkpoint_that_others_gave_up_does_no_harm(keeper: Keeper) -> None:
    """Its objects exist, and the next checkpoint may name them."""
    groups = filled(keeper)
    keeper.save(1)
    keeper.state[groups[3][0]] = 7
    keeper.save(2)
    stored = keeper.save(3)
    assert groups_in(keeper, stored) == {"1/2-1": (0, 1, 2, 4, 5, 6, 7), "2/2-1": (3,)}
    assert restored(keeper, stored)[groups[3][0]] == 7


def test_a_snapshot_ends_one_that_is_still_being_encoded(keeper: Keeper) -> None:
    groups = filled(keeper)
    keeper.saver.snapshot(1, 0, {})
    assert keeper.saver.work()
    keeper.state[groups[3][0]] = 7
    stored = keeper.save(2)
    assert (stored.id, groups_in(keeper, stored)) == (2, {"2/2-1": tuple(range(8))})
    assert keeper.reports.empty()


def test_what_is_still_being_written_counts_as_not_written(keeper: Keeper) -> None:
    groups = filled(keeper)
    keeper.save(1)
    keeper.state[groups[3][0]] = 7
    keeper.shelf.open.clear()
    keeper.saver.snapshot(2, 0, {})
    while keeper.saver.work():
        pass
    keeper.saver.snapshot(3, 0, {})
    keeper.shelf.open.set()
    assert [keeper.finish().id, keeper.finish().id] == [2, 3]
    assert groups_in(keeper, keeper.save(4)) == {"1/2-1": (0, 1, 2, 4, 5, 6, 7), "3/2-1": (3,)}


def test_what_needs_no_object_is_not_reported_before_what_was_begun_earlier(keeper: Keeper) -> None:
    keeper.shelf.open.clear()
    keeper.saver.snapshot(1, 0, {"rows": b"they wait"})
    keeper.saver.snapshot(2, 0, {})
    keeper.shelf.open.set()
    assert [keeper.finish().id, keeper.finish().id] == [1, 2], "the newest report is the one that counts"
    assert keeper.shelf.names(f"{PREFIX}/2/") == []


def test_nobody_hears_of_what_was_abandoned(keeper: Keeper) -> None:
    filled(keeper)
    keeper.shelf.open.clear()
    keeper.saver.snapshot(1, 0, {})
    while keeper.saver.work():
        pass
    keeper.saver.abandon()
    keeper.shelf.open.set()
    assert keeper.save(2).id == 2
    assert keeper.reports.empty()


def test_closing_ends_the_thread_which_closes_the_store(keeper: Keeper) -> None:
    filled(keeper)
    keeper.save(1)
    keeper.saver.close()
    assert keeper.shelf.closed == 1


def test_a_task_without_state_writes_nothing_and_says_so(keeper: Keeper) -> None:
    stored = keeper.save(1)
    assert (stored.id, list(stored.parts), stored.error, keeper.shelf.objects) == (1, [], "", {})
    assert not keeper.task_state.opened


def test_extras_are_those_of_the_last_snapshot(keeper: Keeper) -> None:
    filled(keeper)
    keeper.save(1, {"rows": b"one", "more": b""})
    stored = keeper.save(2, {"rows": b"two"})
    assert [(part.object, part.whole) for part in parts(stored)] == [
        (f"{PREFIX}/1/2-1", False),
        (f"{PREFIX}/2/2-1", True),
    ]
    assert saved_in(keeper, stored).extras == [{"rows": b"two"}]


@pytest.mark.parametrize("touched", [False, True], ids=["between frames", "when it is touched"])
def test_a_value_that_cannot_be_saved_fails_the_checkpoint_and_nothing_else(
    keeper: Keeper, touched: bool
) -> None:
    filled(keeper)
    keeper.state["word1"] = Locked()
    keeper.saver.snapshot(1, 0, {})
    if touched:
        assert type(keeper.state["word1"]) is Locked
    stored = keeper.finish()
    assert stored.error == "a value of type Locked cannot be saved: cannot pickle '_thread.lock' object"
    del keeper.state["word1"]
    assert restored(keeper, keeper.save(2)) == dict(keeper.state)


def test_not_more_than_sixteen_objects_are_needed_for_a_checkpoint() -> None:
    keeper = Keeper(plan_with(32))
    words = {keeper.task_state.group_of(f"word{number}"): f"word{number}" for number in range(1000)}
    keeper.state.update(dict.fromkeys(words.values(), 0))
    keeper.save(1)
    for group, word in sorted(words.items()):
        keeper.state[word] += 1
        stored = keeper.save(group + 2)
        assert len(stored.parts) <= 16
        assert restored(keeper, stored) == dict(keeper.state)
    keeper.saver.close()


def test_a_state_that_is_not_keyed_is_saved_at_once_and_as_a_whole() -> None:
    keeper = Keeper(plan_with(8), cls=Opaque)
    tup: Tuple = tuple_class(("word",))(None, "words", "default", 1, ["heron"])
    keeper.state.put("tuples", deque([tup]))
    keeper.state.put(("any", "key"), {1: "one"})
    keeper.saver.snapshot(1, 0, {"rows": b"r"})
    keeper.state["tuples"].append("later")
    stored = keeper.finish()
    assert [(part.whole, part.opaque) for part in stored.parts] == [(True, True)]
    assert saved_in(keeper, stored).extras == [{"rows": b"r"}]
    back = restored(keeper, stored, Opaque)
    assert back == {"tuples": deque([tup]), ("any", "key"): {1: "one"}}
    assert back["tuples"][0].word == "heron"
    keeper.saver.close()


def test_a_large_group_is_encoded_in_slices_and_the_newest_of_equal_keys_is_kept() -> None:
    keeper = Keeper(plan_with(1))
    keeper.state.update((number, number) for number in range(3 * CHUNK))
    for number in range(0, 3 * CHUNK, 1000):
        del keeper.state[number]
        keeper.state[float(number)] = -number
    keeper.saver.snapshot(1, 0, {})
    slices = 0
    while keeper.saver.work():
        slices += 1
    assert slices == 4, "and a few keys that came twice"
    back = restored(keeper, keeper.reports.get(timeout=30)[0])
    assert list(map(repr, back.items())) == list(map(repr, keeper.state.items()))
    keeper.saver.close()


class Costly:
    """A value that takes its time to be encoded, by a clock of its own."""

    def __init__(self, clock: Ticks, seconds: float) -> None:
        self.clock, self.seconds = clock, seconds

    def __reduce__(self) -> tuple[Any, ...]:
        self.clock.now += self.seconds
        return str, ()


class Ticks:
    """A clock that moves only when something costs time."""

    def __init__(self) -> None:
        self.now = 0.0


@pytest.mark.parametrize("seconds", [BUDGET / 100, BUDGET / 7, BUDGET / 2, BUDGET, 3 * BUDGET])
def test_a_snapshot_is_open_for_few_calls_none_of_which_is_long(seconds: float) -> None:
    """While it is open, the state is frozen, so that every access to it costs more."""
    ticks = Ticks()
    keeper = Keeper(plan_with(512), clock=lambda: ticks.now)
    keeper.state.update((f"word{number}", Costly(ticks, seconds)) for number in range(2000))
    largest = max(Counter(map(keeper.task_state.group_of, keeper.state)).values()) * seconds
    keeper.saver.snapshot(1, 0, {})
    spent = []
    more = True
    while more:
        begun = ticks.now
        more = keeper.saver.work()
        spent.append(ticks.now - begun)
    assert len(spent) <= sum(spent) / BUDGET + 1
    assert max(spent) < BUDGET + largest, "no group is begun after that"
    assert restored(keeper, keeper.finish()) == dict.fromkeys(keeper.state, "")
    keeper.saver.close()


def test_handovers_and_checkpoints_have_names_of_their_own(keeper: Keeper) -> None:
    groups = filled(keeper)
    keeper.save(3)
    keeper.state[groups[1][0]] = 5
    keeper.saver.hand_over(3, 9, [1, 2], {"rows": b"r"})
    given = keeper.finish()
    assert (given.id, given.run, groups_in(keeper, given)) == (3, 9, {"update-3/2-1": (1, 2)})
    assert groups_in(keeper, keeper.save(4)) == {"3/2-1": (0, 2, 3, 4, 5, 6, 7), "4/2-1": (1,)}


def test_nothing_to_hand_over_needs_no_object(keeper: Keeper) -> None:
    filled(keeper)
    keeper.saver.hand_over(2, 0, [], {})
    given = keeper.finish()
    assert (given.id, list(given.parts), given.error, keeper.shelf.objects) == (2, [], "", {})


def test_incarnations_do_not_write_the_same_objects() -> None:
    shelf = Shelf()
    for incarnation in (1, 2):
        keeper = Keeper(plan_with(8), shelf=shelf, incarnation=incarnation)
        filled(keeper)
        keeper.save(1)
        keeper.saver.close()
    assert shelf.names("") == [f"{PREFIX}/1/2-1", f"{PREFIX}/1/2-2"]
