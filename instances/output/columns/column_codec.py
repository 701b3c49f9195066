"""Record batches as payloads of frames: a short head, what the batch is anchored to, and Arrow's IPC message.

The first byte is one that no batch of rows begins with. The schema is the stream's, in the plan. Buffers of
the batch are read where they lie in the payload: the head and the anchors have multiples of eight bytes.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable
from typing import Any, Final

from heronpy.instances.acking.anchored import Edges, pairs
from heronpy.kernel.errors import ProtocolError
from heronpy.kernel.flow.compact_columns import compact, shares

#: MessagePack never uses this byte
MARK: Final = 0xC1
# mark, form, number of roots
_HEAD = struct.Struct("<BBxxI")
#: a record batch message
_MESSAGE: Final = 1
#: a whole IPC stream: a batch with dictionaries takes more than one message
_STREAM: Final = 2
# numbers of fields in the metadata of a message, as in Arrow's Message.fbs
_HEADER: Final = 2
_BATCH_OF_DICTIONARY: Final = 1
_COMPRESSION: Final = 3


def encode_columns(batch: Any, anchor: Edges) -> bytes:
    """One payload out of a record batch and what it is anchored to; with no words that no row has."""
    roots = pairs(anchor)
    numbers = array("Q", [number for pair in roots for number in pair])
    form = _MESSAGE
    if shares(batch.schema):
        batch = compact(batch)
        form = _STREAM if "dictionary<" in str(batch.schema) else _MESSAGE
    body = memoryview(batch.serialize()) if form == _MESSAGE else _stream(batch)
    return b"".join((_HEAD.pack(MARK, form, len(roots)), numbers, body))


def is_columns(payload: bytes) -> bool:
    """Whether a payload of a DATA or ANCHORED frame is a record batch."""
    return len(payload) > 0 and payload[0] == MARK


def decode_columns(payload: bytes, schema: Any) -> tuple[Any, Edges]:
    """The record batch, without a copy, and what it is anchored to; ProtocolError for what is none."""
    if len(payload) < _HEAD.size:
        msg = f"columns of {len(payload)} bytes"
        raise ProtocolError(msg)
    _, form, roots = _HEAD.unpack_from(payload)
    begin = _HEAD.size + 16 * roots
    if len(payload) < begin or form not in (_MESSAGE, _STREAM):
        msg = f"columns of form {form} with {roots} roots in {len(payload)} bytes"
        raise ProtocolError(msg)
    return _read(form, memoryview(payload)[begin:], schema), _anchor(payload[_HEAD.size : begin])


def _anchor(data: bytes) -> Edges:
    numbers = iter(array("Q", data))
    found = dict(zip(numbers, numbers, strict=True))
    if len(found) > 1:
        return found
    return next(iter(found.items()), None)


def _read(form: int, body: memoryview, schema: Any) -> Any:
    import pyarrow as pa

    try:
        if form == _MESSAGE:
            message = pa.ipc.read_message(pa.py_buffer(body))
            _check_plain([message])
            batch = pa.ipc.read_record_batch(message, schema)
        else:
            _check_plain(pa.ipc.MessageReader.open_stream(pa.py_buffer(body)))
            with pa.ipc.open_stream(pa.py_buffer(body)) as stream:
                (batch,) = stream
        # It may come from another machine, and offsets that lie would be followed. Costs a few ns a row.
        batch.validate(full=True)
    except (pa.ArrowException, OSError, ValueError, EOFError) as error:
        msg = f"{len(body)} bytes that are no record batch: {error}"
        raise ProtocolError(msg) from error
    if not batch.schema.equals(schema):
        msg = "a record batch of another schema than that of its stream"
        raise ProtocolError(msg)
    return batch


def _stream(batch: Any) -> memoryview:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return memoryview(sink.getvalue())


def _check_plain(messages: Iterable[Any]) -> None:
    """ValueError for a message that is compressed: a few bytes could become any number of them."""
    import pyarrow as pa

    for message in messages:
        # earlier versions said elsewhere that they were compressed
        if message.metadata_version != pa.ipc.MetadataVersion.V5:
            msg = f"a message of version {message.metadata_version.name}"
            raise ValueError(msg)
        if message.type in ("record batch", "dictionary") and _is_compressed(message):
            msg = f"a {message.type} that is compressed"
            raise ValueError(msg)


def _is_compressed(message: Any) -> bool:
    """As its metadata says, a FlatBuffer, which Arrow has verified: pyarrow does not tell."""
    data = memoryview(message.metadata)
    batch = _table(data, _field(data, _table(data, 0), _HEADER))
    if message.type == "dictionary":
        batch = _table(data, _field(data, batch, _BATCH_OF_DICTIONARY))
    return _field(data, batch, _COMPRESSION) is not None


def _table(data: memoryview, place: int | None) -> int:
    """Where the table begins that is referred to here."""
    if place is None:
        msg = "a message without a batch"
        raise ValueError(msg)
    return place + _number("<i", data, place)


def _field(data: memoryview, table: int, number: int) -> int | None:
    """Where a field of a table lies; None if the table does not have it."""
    fields = table - _number("<i", data, table)
    entry = 4 + 2 * number
    if entry >= _number("<H", data, fields):
        return None
    distance = _number("<H", data, fields + entry)
    return table + distance if distance else None


def _number(form: str, data: memoryview, place: int) -> int:
    found: int = struct.unpack_from(form, data, place)[0]
    return found
