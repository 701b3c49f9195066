"""Keys and values of the state to bytes and back, with every type kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, Final

import msgspec

from heronpy.instances.output.codec import NO_BATCH, SCALARS, opened, portable
from heronpy.kernel.errors import CheckpointDamaged, TopologyError

#: how a column of keys or values is written: as it is, as arrays that were tuples, or each on its own
_PLAIN: Final = 0
_TUPLES: Final = 1
_SINGLE: Final = 2
#: a chunk that begins with this has entries of a table
_TABLE: Final = 3
_HEADER = 4

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(ext_hook=opened).decode


class Early:
    """A value that was encoded before its group, because the user's code may change it at any moment."""

    __slots__ = ("form",)

    def __init__(self, value: object) -> None:
        made = _single(value)
        self.form = made if type(made) is msgspec.msgpack.Ext else msgspec.Raw(_encode(made))


def settled(value: object) -> bool:
    """Whether a value cannot change, so that it may be encoded at any time."""
    kind = type(value)
    return kind in SCALARS or (kind is tuple and all(map(settled, value)))  # type: ignore[call-overload]


def encode_chunk(items: dict[Any, Any]) -> bytes:
    """Some keys of a group, in front of them how many bytes that is."""
    body = b"".join((*_column(list(reversed(items))), *_column(list(reversed(items.values())))))
    return len(body).to_bytes(_HEADER, "little") + body


def decode_group(data: bytes) -> dict[Any, Any]:
    """The keys and values of a group. Its chunks are written newest first, and the newest key counts."""
    items: dict[Any, Any] = {}
    expected = 0
    chunks = list(_chunks(data))
    for keys, values in reversed(chunks):
        expected += len(keys)
        items.update(zip(keys, values, strict=True))
    if len(items) != expected:
        # 1 in an older chunk and 1.0 in a newer: a dict would keep the older key
        items = {}
        for keys, values in reversed(chunks):
            for key, value in zip(keys, values, strict=True):
                items.pop(key, None)
                items[key] = value
    return items


def encode_table(name: str, entries: bytes) -> bytes:
    """Entries that a table has in a group, as a chunk of that group."""
    text = name.encode()
    head = bytes([_TABLE]) + len(text).to_bytes(_HEADER, "little") + text
    return (len(head) + len(entries)).to_bytes(_HEADER, "little") + head + entries


def decode_tables(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Names of tables, and what they have in a group; a name may come more than once."""
    for chunk in _bodies(data):
        if chunk[0] == _TABLE:
            end = 1 + _HEADER + int.from_bytes(chunk[1 : 1 + _HEADER], "little")
            yield bytes(chunk[1 + _HEADER : end]).decode(), bytes(chunk[end:])


def encode_whole(value: object) -> bytes:
    """A value that is saved as a whole; TopologyError if it cannot be."""
    return _encode(_single(value))


def decode_whole(data: bytes | memoryview) -> Any:
    try:
        return _decode(data)
    except NO_BATCH as error:
        msg = f"{len(data)} bytes of a checkpoint are no state: {error}"
        raise CheckpointDamaged(msg) from error


def _column(column: Sequence[Any]) -> tuple[bytes, bytes]:
    kinds = set(map(type, column))
    form = _SINGLE
    if kinds <= SCALARS:
        form = _PLAIN
    elif kinds == {tuple} and set(map(type, chain.from_iterable(column))) <= SCALARS:
        form = _TUPLES
    if form != _SINGLE:
        try:
            return _packed(form, _encode(column))
        except (OverflowError, UnicodeEncodeError):
            pass  # an integer beyond 64 bits, or half a surrogate pair
    return _packed(
        _SINGLE, _encode([value.form if type(value) is Early else _single(value) for value in column])
    )


def _packed(form: int, body: bytes) -> tuple[bytes, bytes]:
    return form.to_bytes(1, "little") + len(body).to_bytes(_HEADER, "little"), body


def _chunks(data: bytes) -> Iterator[tuple[list[Any], list[Any]]]:
    for chunk in _bodies(data):
        if chunk[0] != _TABLE:
            keys, rest = _uncolumn(chunk)
            values, _ = _uncolumn(rest)
            yield keys, values


def _bodies(data: bytes) -> Iterator[memoryview]:
    rest = memoryview(data)
    while rest:
        size = _HEADER + int.from_bytes(rest[:_HEADER], "little")
        yield rest[_HEADER:size]
        rest = rest[size:]


def _uncolumn(data: memoryview) -> tuple[list[Any], memoryview]:
    end = 1 + _HEADER + int.from_bytes(data[1 : 1 + _HEADER], "little")
    column = decode_whole(data[1 + _HEADER : end])
    return [tuple(value) for value in column] if data[0] == _TUPLES else column, data[end:]


def _single(value: object) -> object:
    try:
        return portable(value)
    except TopologyError as error:
        msg = f"a value of type {type(value).__name__} cannot be saved: {error.__cause__}"
        raise TopologyError(msg) from error.__cause__


def one_line(error: BaseException) -> str:
    """An error as one line, for reports."""
    return next(iter(str(error).splitlines()), "") or type(error).__name__
