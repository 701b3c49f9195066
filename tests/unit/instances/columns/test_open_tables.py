"""Which tables a task may open, and what other threads see of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support.tasks.keeping import Keeper, plan_with, saved_in

from heronpy import Bolt, Schema
from heronpy.errors import DefinitionError
from heronpy.instances.saving.state import TaskState
from heronpy.kernel.state_transfer import held_of
from heronpy.kernel.tables.key_table import KeyTable

WORDS = Schema(word=pa.string())


@pytest.fixture
def state() -> Any:
    return Keeper(plan_with(8)).state


def test_one_type_may_be_written_in_several_ways(state: Any) -> None:
    first = state.table("counts", keys=WORDS, count="int64", share=float)
    again = state.table("counts", keys=WORDS, count=np.int64, share=np.dtype("float64"))
    assert again is first
    assert state.table("counts", keys=WORDS, count=int, share="<f8") is first


def test_another_form_is_refused_in_one_line(state: Any) -> None:
    state.table("counts", keys=WORDS, count="int64")
    message = (
        "table 'counts' was opened with word (string), count (int64), and now with word (string), n (int64)"
    )
    with pytest.raises(DefinitionError, match=f"^{re.escape(message)} \\(try: "):
        state.table("counts", keys=WORDS, n="int64")


@pytest.mark.parametrize(
    "kind",
    ["object", "U8", "S3", "datetime64[s]", "complex128", "longdouble", "nonsense", None, pa.int64(), [()]],
)
def test_what_is_no_number_is_refused_in_one_line(state: Any, kind: Any) -> None:
    with pytest.raises(
        DefinitionError,
        match=r"^value 'n' of table 't' has the type .*, and a table holds numbers \(try: .*\)$",
    ):
        state.table("t", keys=WORDS, n=kind)


@pytest.mark.parametrize("kind", ["bool", "int8", "uint16", "int32", "uint64", "float32", ">i8"])
def test_a_table_holds_numbers_of_every_kind(state: Any, kind: str) -> None:
    table = state.table("t", keys=WORDS, n=kind)
    one = np.ones(1, table.get(pa.array(["a"]))["n"].dtype)
    table.add(pa.array(["a"]), {"n": one})
    assert table.batch()["n"].to_pylist() == [1]


def test_a_value_named_like_a_key_is_refused(state: Any) -> None:
    with pytest.raises(
        DefinitionError, match=r"^table 't' has a key and a value that are both named 'word' \(try: "
    ):
        state.table("t", keys=WORDS, word="int64")


@pytest.mark.parametrize(
    "wrong",
    [
        lambda state: state.table("t", keys=WORDS, n="nonsense"),
        lambda state: state.table("t", keys=Schema(word=pa.string_view()), n="int64"),
    ],
)
def test_a_call_that_fails_leaves_nothing_behind(state: Any, wrong: Callable[[Any], object]) -> None:
    with pytest.raises((DefinitionError, TypeError)):
        wrong(state)
    assert len(state.table("t", keys=WORDS, n="int64")) == 0


def test_what_was_saved_waits_for_a_call_that_fits() -> None:
    keeper = Keeper(plan_with(8))
    keeper.state.table("t", keys=WORDS, n="int64").add(pa.array(["a", "b"]), {"n": [1, 2]})
    fresh = TaskState(keeper.plan, keeper.task_state.task_id, Bolt)
    fresh.restore(saved_in(keeper, keeper.save(1)))
    state: Any = fresh.open()
    with pytest.raises(DefinitionError, match="table 't' was saved in another form"):
        state.table("t", keys=WORDS, n="int32")
    assert state.table("t", keys=WORDS, n="int64").get(pa.array(["a", "b"]))["n"].tolist() == [1, 2]
    keeper.saver.close()


def test_a_table_may_be_opened_while_another_thread_counts_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other thread's turn comes between two tables."""
    keeper = Keeper(plan_with(8))
    for name in ("a", "b", "c"):
        keeper.state.table(name, keys=WORDS, n="int64").add(pa.array(["x", "y"]), {"n": 1})
    names = iter("defghi")
    count = KeyTable.__len__

    def and_open_another(table: KeyTable) -> int:
        monkeypatch.setattr(KeyTable, "__len__", count)
        keeper.state.table(next(names), keys=WORDS, n="int64")
        monkeypatch.setattr(KeyTable, "__len__", and_open_another)
        return count(table)

    monkeypatch.setattr(KeyTable, "__len__", and_open_another)
    assert held_of(keeper.task_state.held()).keyed == 6
