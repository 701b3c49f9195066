"""A piece of a batch takes the bytes that its rows need, whatever it shares with the rest of the batch."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heronpy.kernel.flow.column_split import concatenated
from heronpy.kernel.flow.compact_columns import compact, compact_bytes

#: too long for a view to hold in itself
LONG = [f"a word of more than twelve bytes, number {number}" for number in range(1000)]
WORDS = pa.array(LONG)
PLACES = pa.array(range(1000), pa.int16())
OFFSETS = pa.array(range(1001), pa.int32())


def words(kind: Any = None, *, ordered: bool = False) -> Any:
    return pa.DictionaryArray.from_arrays(PLACES, WORDS.cast(kind or pa.string()), ordered=ordered)


SHARING = {
    "dictionary": words(),
    "ordered": words(ordered=True),
    "dictionary of views": words(pa.string_view()),
    "strings": WORDS.cast(pa.string_view()),
    "binary": WORDS.cast(pa.binary()).cast(pa.binary_view()),
    "list": pa.ListArray.from_arrays(OFFSETS, words()),
    "large list": pa.LargeListArray.from_arrays(OFFSETS.cast(pa.int64()), WORDS.cast(pa.string_view())),
    "list of lists": pa.ListArray.from_arrays(OFFSETS, pa.ListArray.from_arrays(OFFSETS, words())),
    "map": pa.MapArray.from_arrays(OFFSETS, WORDS, words()),
    "struct": pa.StructArray.from_arrays([words(), WORDS.cast(pa.string_view())], ["a", "b"]),
}


def written(batch: Any) -> int:
    """How many bytes Arrow writes for it, besides its schema."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        begun = sink.tell()
        writer.write_batch(batch)
        return int(sink.tell() - begun)


@pytest.mark.parametrize("column", SHARING.values(), ids=SHARING)
def test_ten_rows_of_a_thousand_take_the_bytes_of_ten(column: Any) -> None:
    batch = pa.record_batch({"number": range(1000), "shared": column})
    piece = batch.slice(500, 10)
    found = compact(piece)
    assert written(piece) > 40_000
    assert written(found) < 3_000
    found.validate(full=True)
    assert found.schema == batch.schema
    assert found.to_pylist() == piece.to_pylist()


@pytest.mark.parametrize("name", ["dictionary", "dictionary of views", "strings", "binary"])
def test_the_size_of_a_piece_is_known_before_it_is_made(name: str) -> None:
    piece = pa.record_batch({"number": range(1000), "shared": SHARING[name]}).slice(500, 400)
    assert compact_bytes(piece) == pytest.approx(written(compact(piece)), rel=0.1)


def test_slices_of_other_columns_are_written_and_measured_as_they_are() -> None:
    columns = {
        "text": WORDS,
        "numbers": range(1000),
        "flags": [True, None] * 500,
        "lists": [[number] for number in range(1000)],
        "structs": [{"a": word} for word in LONG],
    }
    batch = pa.record_batch(columns)
    piece = batch.slice(500, 10)
    assert compact(piece) is piece
    assert written(piece) < 3_000
    assert compact_bytes(piece) == piece.nbytes < 1_500


@given(
    st.lists(st.none() | st.sampled_from(LONG[:20]), min_size=1),
    st.sampled_from([pa.int8(), pa.uint16(), pa.int64()]),
    st.data(),
)
def test_any_piece_has_its_rows(rows: list[str | None], places: Any, data: st.DataObject) -> None:
    words = pa.array(rows).dictionary_encode()
    words = pa.DictionaryArray.from_arrays(words.indices.cast(places), words.dictionary)
    views = pa.array(rows, pa.string_view())
    lists = pa.array([None if row is None else [row, None][: len(row) % 3] for row in rows])
    columns = {
        "words": words,
        "views": views,
        "lists": lists.cast(pa.list_(pa.dictionary(pa.int32(), pa.string()))),
        "nested": pa.array([None if row is None else [[row]] for row in rows]).cast(
            pa.list_(pa.list_(pa.string_view()))
        ),
        "structs": pa.StructArray.from_arrays([words, views], ["a", "b"], mask=words.is_null()),
    }
    begin = data.draw(st.integers(0, len(rows) - 1))
    count = data.draw(st.integers(1, len(rows)))
    piece = pa.record_batch(columns).slice(begin, count)
    found = compact(piece)
    found.validate(full=True)
    assert found.schema == piece.schema
    assert found.to_pylist() == piece.to_pylist()


def test_few_words_are_left_as_they_are() -> None:
    column = pa.array(["yes", "no"] * 500).dictionary_encode()
    piece = pa.record_batch({"answer": column}).slice(0, 999)
    assert compact(piece).column(0).dictionary.to_pylist() == ["yes", "no"]


def test_what_arrow_cannot_take_apart_stays_whole() -> None:
    lists = pa.ListArray.from_arrays(pa.array([0, 500, 1000], pa.int32()), WORDS.cast(pa.string_view()))
    batch = pa.record_batch({"rare": pa.DictionaryArray.from_arrays(pa.array([1, 0]), lists)})
    assert compact(batch.slice(0, 1)).equals(batch.slice(0, 1))


def test_dictionaries_that_are_too_many_words_together_are_not_put_together() -> None:
    kind = pa.dictionary(pa.int8(), pa.string())
    parts = [pa.record_batch({"w": pa.array(LONG[at : at + 100], kind)}) for at in (0, 50, 100)]
    assert concatenated(parts) is None
    both = concatenated([parts[0], parts[0]])
    assert both is not None
    assert both.column(0).to_pylist() == LONG[:100] * 2
