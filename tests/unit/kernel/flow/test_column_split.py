"""A record batch is split among the tasks that own its rows, in C and in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.suite.needs import needs_compiled_module

from heronpy.kernel.flow import compiled
from heronpy.kernel.flow.column_split import split

ROWS = st.lists(st.tuples(st.integers(0, 5) | st.integers(0, 10_000), st.none() | st.text(max_size=5)))


def both_ways(batch: pa.RecordBatch, owners: list[int], kind: Any = np.uint32) -> dict[int, pa.RecordBatch]:
    found = split(batch, np.array(owners, kind))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled, "columns", None)
        in_python = split(batch, np.array(owners, kind))
    assert list(found) == list(in_python)
    assert all(found[owner].equals(in_python[owner]) for owner in found)
    return found


@given(ROWS, st.sampled_from([np.uint16, np.int64]))
def test_every_owner_gets_its_rows_in_their_order(rows: list[tuple[int, str | None]], kind: Any) -> None:
    owners = [owner for owner, _ in rows]
    batch = pa.record_batch(
        {"row": list(range(len(rows))), "word": pa.array([word for _, word in rows], "string")}
    )
    found = both_ways(batch, owners, kind)
    assert list(found) == sorted(set(owners))
    for owner, part in found.items():
        mine = [row for row, other in enumerate(owners) if other == owner]
        assert part.to_pydict() == {"row": mine, "word": [rows[row][1] for row in mine]}
        assert part.schema == batch.schema


def test_columns_of_all_kinds_are_split() -> None:
    columns = {
        "text": pa.array(["a", None, "longer than twelve bytes"], pa.string_view()),
        "raw": pa.array([b"a", None, b"longer than twelve bytes"], pa.binary_view()),
        "words": pa.array(["a", "b", "a"]).dictionary_encode(),
        "list": pa.array([[1], [], None]),
        "struct": pa.array([{"a": 1}, None, {"a": 3}]),
        "nothing": pa.nulls(3),
    }
    batch = pa.record_batch(columns)
    wider = pa.record_batch({name: pa.concat_arrays([column, column]) for name, column in columns.items()})
    found = both_ways(wider.slice(2, 3), [7, 5, 7])  # rows 2, 0 and 1 of the columns
    assert found[7].to_pylist() == [batch.to_pylist()[2], batch.to_pylist()[1]]
    assert found[5].to_pylist() == [batch.to_pylist()[0]]
    assert found[5].schema == batch.schema


def test_a_batch_of_one_owner_is_not_copied() -> None:
    batch = pa.record_batch({"word": ["a", "b"]})
    assert both_ways(batch, [3, 3])[3] is batch
    assert both_ways(batch.slice(0, 0), []) == {}


def test_every_row_needs_an_owner() -> None:
    with pytest.raises(ValueError, match=r"^1 owners for 2 rows$"):
        split(pa.record_batch({"word": ["a", "b"]}), np.array([1]))


def test_the_compiled_module_writes_nothing_outside_of_the_buffers() -> None:
    module = needs_compiled_module()
    for lanes, starts in (([2], [0, 0]), ([0], [1]), ([0], [-1]), ([0, 0], [0]), ([0], [])):
        with pytest.raises(ValueError, match="no lane, or its lane no room"):
            module.order(np.array(lanes, np.uint32), np.array(starts, np.int64), bytearray(8))
