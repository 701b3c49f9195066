"""A record batch is read where it lies in its frame."""

from __future__ import annotations

import pyarrow as pa
import pytest

from heronpy.instances.acking.anchored import Edges
from heronpy.instances.output.columns.column_codec import decode_columns, encode_columns


@pytest.mark.parametrize(
    "anchor", [None, (3, 4), {1: 2, 3: 4, 5: 6}], ids=["none", "one root", "three roots"]
)
def test_all_buffers_are_parts_of_the_payload(anchor: Edges) -> None:
    words = pa.array([f"word {number}" for number in range(1000)] + [None])
    counts = pa.array(range(1001), pa.int64())
    exact = pa.array([None, *range(1000)], pa.decimal128(11, 2))
    batch = pa.record_batch([words, counts, exact], names=["word", "count", "exact"])
    payload = encode_columns(batch, anchor)
    found, roots = decode_columns(payload, batch.schema)
    assert (found.equals(batch), roots) == (True, anchor)
    begin = pa.py_buffer(payload).address
    buffers = [buffer for column in found.columns for buffer in column.buffers() if buffer is not None]
    assert len(buffers) == 6, "values of each, offsets of the words, and which words and decimals are null"
    for buffer in buffers:
        assert begin <= buffer.address
        assert buffer.address + buffer.size <= begin + len(payload)
