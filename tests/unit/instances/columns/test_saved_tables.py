"""A table comes back from a checkpoint as it was, in however many key groups its keys lie."""

from __future__ import annotations

import pyarrow as pa
import pytest
from support.tasks.keeping import Keeper, plan_with, saved_in

from heronpy import Bolt, Schema
from heronpy.instances.saving.state import TaskState

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
