"""What pyarrow does not say of an IPC message: whether its body is compressed.

It is in the metadata of the message, a FlatBuffer, which Arrow has verified when it has opened the message.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any, Final

_INT = struct.Struct("<i")
_SHORT = struct.Struct("<H")
# numbers of fields, as in Arrow's Message.fbs
_HEADER: Final = 2
_BATCH_OF_DICTIONARY: Final = 1
_COMPRESSION: Final = 3


def check_plain(messages: Iterable[Any]) -> None:
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
    return place + _number(_INT, data, place)


def _field(data: memoryview, table: int, number: int) -> int | None:
    """Where a field of a table lies; None if the table does not have it."""
    fields = table - _number(_INT, data, table)
    entry = 4 + 2 * number
    if entry >= _number(_SHORT, data, fields):
        return None
    distance = _number(_SHORT, data, fields + entry)
    return table + distance if distance else None


def _number(form: struct.Struct, data: memoryview, place: int) -> int:
    found: int = form.unpack_from(data, place)[0]
    return found
