"""A table comes back from a checkpoint as it was, in however many key groups its keys lie."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from support.tasks.keeping import Keeper, plan_with, saved_in

from heronpy import Bolt, Schema
from heronpy.instances.saving.state import TaskState
from heronpy.instances.saving.state.ownership import Ownership
from heronpy.instances.saving.state.state_tables import Tables

WORDS = Schema(word=pa.string())


@pytest.mark.parametrize("groups", [1, 16, 17, 34, 256])
def test_no_key_group_of_a_table_is_left_out(groups: int) -> None:
    keeper = Keeper(plan_with(groups))
    words = pa.array([f"word {number}" for number in range(2_000)])
    keeper.state.table("seen", keys=WORDS, seen="int64").add(words, {"seen": range(2_000)})

    saved = saved_in(keeper, keeper.save(1))
    fresh = TaskState(keeper.plan, keeper.task_state.task_id, Bolt)
    fresh.restore(saved)

    assert sorted(saved.tables()["seen"]) == list(range(groups))
    found = fresh.open().table("seen", keys=WORDS, seen="int64").get(words)
    assert found["seen"].tolist() == list(range(2_000))
    keeper.saver.close()


def test_a_large_group_of_a_table_is_saved_turn_by_turn() -> None:
    """A call encodes some thousands of entries, while the task changes the table."""
    keeper = Keeper(plan_with(1))
    table = keeper.state.table("seen", keys=WORDS, seen="int64")
    words = pa.array([f"word {number}" for number in range(50_000)])
    table.add(words, {"seen": range(50_000)})

    keeper.saver.snapshot(1, 0, {})
    turns = 1
    while keeper.saver.work():
        table.add(words[turns * 1_000 : (turns + 1) * 1_000], {"seen": 7})
        table.remove(words[: turns * 10])
        table.add(pa.array([f"more {turns}"]), {"seen": 7})
        turns += 1
    saved = saved_in(keeper, keeper.reports.get(timeout=30)[0])
    fresh = TaskState(keeper.plan, keeper.task_state.task_id, Bolt)
    fresh.restore(saved)

    found = fresh.open().table("seen", keys=WORDS, seen="int64")
    assert turns > 10
    assert len(found) == len(words)
    assert found.get(words)["seen"].tolist() == list(range(50_000))
    keeper.saver.close()


def test_a_table_that_is_not_open_is_saved_again_as_it_was() -> None:
    keeper = Keeper(plan_with(40))
    words = pa.array([f"word {number}" for number in range(20_000)])
    keeper.state.table("seen", keys=WORDS, seen="int64").add(words, {"seen": range(20_000)})
    saved = saved_in(keeper, keeper.save(1))

    between = Keeper(keeper.plan)
    between.task_state.restore(saved)
    between.task_state.ledger.clear()
    again = saved_in(between, between.save(2))
    fresh = TaskState(keeper.plan, keeper.task_state.task_id, Bolt)
    fresh.restore(again)

    assert again.tables() == saved.tables()
    assert fresh.open().table("seen", keys=WORDS, seen="int64").get(words)["seen"].tolist() == list(
        range(20_000)
    )
    keeper.saver.close()
    between.saver.close()


class Counted(list[int]):
    """A list that knows how often it was read."""

    reads = 0

    def __iter__(self) -> Iterator[int]:
        self.reads += 1
        return super().__iter__()


def test_groups_are_read_a_few_times_however_many_wait() -> None:
    tables = Tables(Ownership(plan_with(256), 2, ("word",)), lambda schema: schema)
    tables.replace(range(256), {"seen": {group: [b"entries"] for group in range(256)}})
    groups = Counted(range(0, 256, 2))
    images = tables.freeze(groups, keep_changes=True)
    found = [group for chunks in iter(images.next_chunk, None) for group, _ in chunks]
    assert found == list(range(0, 256, 2))
    assert groups.reads < 5
