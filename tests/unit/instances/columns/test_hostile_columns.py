"""Columns of bytes that somebody made up: one error, and no size in them is believed."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from support.faults.hostile_bytes import judge, mutations

from heronpy.instances.output.column_codec import decode_columns, encode_columns
from heronpy.kernel.flow.column_split import rows_of

COLUMNS = pa.record_batch({"word": ["a", None, "bcd"], "n": [1, 2, None]})
GOOD = [encode_columns(COLUMNS, None), encode_columns(COLUMNS.slice(1), {7: 9, 8: 3})]


def decode(data: bytes) -> object:
    return rows_of(decode_columns(data, COLUMNS.schema)[0])


@given(st.binary(max_size=300) | mutations(GOOD))
def test_noise_and_mutations_are_refused_with_one_error(data: bytes) -> None:
    judge(decode, data)


def test_every_truncation_is_refused() -> None:
    for original in GOOD:
        decode(original)
        for length in range(len(original)):
            judge(decode, original[:length])
