"""Batches that share a dictionary, or the strings of views, are cut and put together as others are."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from support.tasks.emitter import Emitter
from support.tasks.plans import edge

from heronpy import Schema

ROWS = [[f"a word of more than twelve bytes {number}: {'x' * 100}", number] for number in range(100)]
KINDS = [
    pa.string(),
    pa.dictionary(pa.int32(), pa.string()),
    pa.dictionary(pa.int8(), pa.string_view()),
    pa.string_view(),
    pa.list_(pa.dictionary(pa.int32(), pa.string())),
]


def emitter(kind: Any, *edges: Any, **settings: Any) -> Emitter:
    return Emitter(*edges, schema=Schema(word=kind, n=pa.int64()), **settings)


def batch_of(kind: Any, rows: list[list[Any]]) -> Any:
    words = pa.array([row[0] for row in rows])
    if pa.types.is_dictionary(kind):
        places = pa.array(range(len(rows)), kind.index_type)
        words = pa.DictionaryArray.from_arrays(places, words.cast(kind.value_type))
    elif pa.types.is_list(kind):
        words = pa.array([[row[0]] for row in rows], kind)
    return pa.record_batch({"word": words.cast(kind), "n": [row[1] for row in rows]})


def received(emitter: Emitter) -> list[list[Any]]:
    return [[word[0] if isinstance(word, list) else word, number] for word, number in emitter.link.values]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_dictionary_of_several_frames_loses_no_row(kind: Any) -> None:
    one = emitter(kind, frame_bytes=4_000)
    one.collector.emit_batch(batch_of(kind, ROWS), "default")
    one.outbox.flush()
    assert received(one) == ROWS


@pytest.mark.parametrize("kind", KINDS[:-1], ids=str)
def test_it_takes_as_many_frames_as_plain_strings_do(kind: Any) -> None:
    one = emitter(kind, frame_bytes=4_000)
    one.collector.emit_batch(batch_of(kind, ROWS), "default")
    one.outbox.flush()
    assert 5 <= len(one.link.sizes) <= 10


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_the_parts_of_a_split_batch_carry_only_their_own_words(kind: Any) -> None:
    one = emitter(kind, edge("fields", "n"), par=4)
    one.collector.emit_batch(batch_of(kind, ROWS), "default")
    one.outbox.flush()
    assert sorted(received(one), key=lambda row: int(row[1])) == ROWS
    assert len(one.link.sizes) == 4
    assert one.link.data_bytes < 25_000  # 14 KB of words, once


def test_small_batches_whose_words_fit_no_dictionary_together_leave_one_by_one() -> None:
    kind = pa.dictionary(pa.int8(), pa.string())
    one = emitter(kind, credit_initial=1_000)
    batches = [[[f"{group} {number}", number] for number in range(100)] for group in range(3)]
    one.collector.emit_batch(batch_of(kind, ROWS[:1]), "default")  # its receiver is busy from here on
    for rows in batches:
        one.collector.emit_batch(batch_of(kind, rows), "default")
    one.outbox.flush()
    assert received(one) == [ROWS[0], *batches[0], *batches[1], *batches[2]]
    assert one.link.sizes == [1, 100, 100, 100]
