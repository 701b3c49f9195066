"""Columns of bytes that somebody made up: one error, and no size in them is believed."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.faults.hostile_bytes import judge, mutations

from heronpy.instances.output.columns.column_codec import decode_columns, encode_columns
from heronpy.kernel.errors import ProtocolError
from heronpy.kernel.flow.column_split import rows_of

COLUMNS = pa.record_batch({"word": ["a", None, "bcd"], "n": [1, 2, None]})
WORDS = pa.record_batch(
    {
        "word": pa.array(["a", None, "bcd"]).dictionary_encode(),
        "place": pa.array(["e", "e", "f"], pa.dictionary(pa.int8(), pa.string())),
    }
)
GOOD = [encode_columns(COLUMNS, None), encode_columns(COLUMNS.slice(1), {7: 9, 8: 3})]
GOOD_WORDS = [encode_columns(WORDS, None), encode_columns(WORDS.slice(1), {7: 9, 8: 3})]
#: of a payload without anchors, in front of Arrow's messages
HEAD = 8
ZEROS = pa.record_batch({"n": [0] * 100_000})
ZERO_WORDS = pa.record_batch({"word": pa.array(["0" * 1_000_000]).dictionary_encode()})


def decode(data: bytes) -> object:
    return rows_of(decode_columns(data, COLUMNS.schema)[0])


def decode_words(data: bytes) -> object:
    return rows_of(decode_columns(data, WORDS.schema)[0])


@given(st.binary(max_size=300) | mutations(GOOD))
def test_noise_and_mutations_are_refused_with_one_error(data: bytes) -> None:
    judge(decode, data)


@given(mutations(GOOD_WORDS))
def test_mutations_of_dictionaries_are_refused_with_one_error(data: bytes) -> None:
    judge(decode_words, data)


@pytest.mark.parametrize(("read", "good"), [(decode, GOOD), (decode_words, GOOD_WORDS)])
def test_every_truncation_is_refused(read: Any, good: list[bytes]) -> None:
    for original in good:
        read(original)
        for length in range(len(original)):
            judge(read, original[:length])


def messages(batch: Any, **options: Any) -> list[bytes]:
    """Schema, dictionaries and batch, as Arrow writes them with these options."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_batch(batch)
    return [bytes(message.serialize()) for message in pa.ipc.MessageReader.open_stream(sink.getvalue())]


def payload(good: bytes, *messages: bytes) -> bytes:
    return good[:HEAD] + b"".join(messages)


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_what_is_compressed_is_refused_before_it_grows(codec: str) -> None:
    good, good_words = encode_columns(ZEROS, None), encode_columns(ZERO_WORDS, None)
    schema, words, rows = messages(ZERO_WORDS)
    _, small_words, small_rows = messages(ZERO_WORDS, compression=codec)
    assert decode_columns(payload(good, messages(ZEROS)[1]), ZEROS.schema)[0] == ZEROS
    assert decode_columns(payload(good_words, schema, words, rows), ZERO_WORDS.schema)[0] == ZERO_WORDS
    before = pa.total_allocated_bytes()
    for batch, kind, data in (
        (ZEROS, "record batch", payload(good, messages(ZEROS, compression=codec)[1])),
        (ZERO_WORDS, "dictionary", payload(good_words, schema, small_words, rows)),
        (ZERO_WORDS, "record batch", payload(good_words, schema, words, small_rows)),
    ):
        with pytest.raises(ProtocolError, match=f"a {kind} that is compressed"):
            decode_columns(data, batch.schema)
    assert pa.total_allocated_bytes() <= before


def test_messages_of_earlier_versions_are_refused() -> None:
    """These said in another place that they were compressed."""
    old = messages(COLUMNS, metadata_version=pa.ipc.MetadataVersion.V4)
    with pytest.raises(ProtocolError, match="a message of version V4"):
        decode(payload(GOOD[0], old[1]))
