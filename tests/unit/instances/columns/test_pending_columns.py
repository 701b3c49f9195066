"""Rows and columns that wait in a checkpoint, and a topology that goes on with other types or none."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from support.tasks.emitter import Emitter
from support.tasks.plans import edge

from heronpy import Schema
from heronpy.instances.output.codec import PlainCodec
from heronpy.instances.output.columns.column_codec import encode_columns
from heronpy.instances.saving.pending_rows import ROWS, PendingRows, encode_unsent, put_back
from heronpy.kernel.errors import TopologyError
from heronpy.kernel.flow.batches import ColumnBatch

NOON = dt.datetime(2020, 1, 1, 12)
WHOLE = Schema(word=pa.int64(), n=pa.int64())
MILLISECONDS = Schema(word=pa.int64(), n=pa.timestamp("ms"))
PAIRS = [(WHOLE, [(1, 2), (3, 4)]), (MILLISECONDS, [(1, NOON), (3, NOON)])]


def emitter(schema: Schema | None) -> Emitter:
    """Without credit: what is emitted waits."""
    return Emitter(edge("fields", "word"), par=1, schema=schema, may_wait=False, credit_initial=0)


def saved(schema: Schema | None, rows: list[tuple[Any, ...]], *, columns: bool) -> dict[str, bytes]:
    before = emitter(schema)
    if columns:
        assert schema is not None
        arrays = [
            pa.array(each, kind)
            for each, kind in zip(zip(*rows, strict=True), schema.arrow.types, strict=True)
        ]
        before.collector.emit_batch(pa.record_batch(arrays, schema=schema.arrow), "default")
    else:
        before.collector.emit_many(rows, "default")
    found = encode_unsent(before.outbox, before.plan)
    assert found is not None
    return {ROWS: found}


def waiting(extras: dict[str, bytes], schema: Schema | None) -> list[Any]:
    """What waits after a restore."""
    after = emitter(schema)
    put_back(extras, after.outbox, after.collector, after.plan, "words")
    return [
        row
        for lane in after.outbox.unsent()
        for batch in lane.batches()
        for row in (batch.rows.to_pylist() if isinstance(batch, ColumnBatch) else batch.rows)
    ]


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize(("schema", "rows"), PAIRS)
def test_with_the_same_types_all_of_it_waits_again(schema: Schema, rows: Any, columns: bool) -> None:
    again = Schema(schema.arrow.with_metadata({"made": "anew"}))
    found = waiting(saved(schema, rows, columns=columns), again)
    if columns:
        assert [tuple(row.values()) for row in found] == rows
    else:
        codec = PlainCodec()
        assert list(map(tuple, codec.decode(codec.encode(found)))) == rows


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize(
    ("before", "now"),
    [
        (WHOLE, Schema(word=pa.int64(), n=pa.float64())),
        (WHOLE, Schema(word=pa.int64(), n=pa.timestamp("ms"))),
        (WHOLE, Schema(n=pa.int64(), word=pa.int64())),
        (WHOLE, Schema(pa.schema([("word", pa.int64()), pa.field("n", pa.int64(), nullable=False)]))),
        (MILLISECONDS, Schema(word=pa.int64(), n=pa.timestamp("us"))),
    ],
    ids=str,
)
def test_other_types_are_refused_with_what_to_do(before: Schema, now: Schema, columns: bool) -> None:
    rows: Any = {repr(schema): rows for schema, rows in PAIRS}[repr(before)]
    extras = saved(before, rows, columns=columns)
    with pytest.raises(TopologyError) as refused:
        waiting(extras, now)
    message = str(refused.value)
    assert message.startswith("the checkpoint has rows of stream 'default' of 'words' by (word: int64, n: ")
    assert f", and now its Schema is ({now.arrow.names[0]}: int64, " in message
    assert "(try: start from it with the stream as it was;" in message
    assert "\n" not in message


def test_columns_have_no_place_on_a_stream_of_rows_and_rows_have() -> None:
    message = "the checkpoint has columns of stream 'default' of 'words', which declares no Schema any more"
    with pytest.raises(TopologyError, match=message):
        waiting(saved(WHOLE, [(1, 2)], columns=True), None)
    assert waiting(saved(WHOLE, [(1, 2)], columns=False), None) == [(1, 2)]


def test_rows_of_a_stream_without_a_schema_fit_its_new_one_or_are_refused() -> None:
    floats = Schema(word=pa.string(), n=pa.float64())
    assert repr(waiting(saved(None, [("a", 2)], columns=False), floats)) == "[('a', 2.0)]"
    message = (
        "the checkpoint has rows of stream 'default' of 'words' that do not fit its new Schema:"
        " 'n' is double, not the str two"
    )
    with pytest.raises(TopologyError, match=message.replace("two", "'two'")):
        waiting(saved(None, [("a", 1), ("a", "two")], columns=False), floats)
    three = msgspec.msgpack.encode([["default", "count", 2, msgspec.msgpack.encode([["a", 1, 2]])]])
    with pytest.raises(TopologyError, match="a row of 3 values, and there are 2 fields"):
        waiting({ROWS: three}, floats)


GOOD = encode_columns(pa.record_batch([[1], [2]], schema=WHOLE.arrow), None)


@pytest.mark.parametrize(
    ("rows", "schema"),
    [
        (GOOD[:-5], WHOLE.encoded()),
        (GOOD[:1], WHOLE.encoded()),
        (GOOD, b""),
        (GOOD, b"no schema at all"),
        (b"\xdd\xff\xff\xff\xff", WHOLE.encoded()),
    ],
)
def test_bytes_that_are_none_are_an_error_for_users(rows: bytes, schema: bytes) -> None:
    found = msgspec.msgpack.encode([PendingRows("default", "count", 2, rows, schema)])
    message = re.escape(
        "what the checkpoint has of stream 'default' of 'words', emitted and not sent, is damaged"
    )
    with pytest.raises(TopologyError, match=message) as refused:
        waiting({ROWS: found}, WHOLE)
    assert "\n" not in str(refused.value)
