"""Keys and key groups: which values are the same key, and which group a key belongs to.

The encoding is part of the state format: changing it moves every key. Golden values are in the tests.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import struct
import uuid
from collections.abc import Callable
from typing import Any

from xxhash import xxh3_64_intdigest

_DOUBLE = struct.Struct("<d")


def key_group(key: object, groups: int) -> int:
    """The group of a key; TypeError for a value that has no canonical form."""
    # Strings are by far the most common key, so they do not go through the table.
    encoded = b"s" + key.encode() if type(key) is str else encode_key(key)
    return xxh3_64_intdigest(encoded) % groups


def encode_key(key: object) -> bytes:
    """A canonical form: equal in Python means equal bytes, in every process and for ever."""
    encoder = _ENCODERS.get(type(key))
    if encoder is not None:
        return encoder(key)
    if isinstance(key, enum.Enum):
        return encode_key(key.value)
    for base, encode in _ENCODERS.items():
        if isinstance(key, base):
            return encode(key)
    msg = f"a {type(key).__name__} cannot be a key: use None, bool, int, float, str, bytes, a date or time, UUID, Decimal, an enum, or a tuple of these"
    raise TypeError(msg)


def _integer(value: int) -> bytes:
    return b"i" + int(value).to_bytes((value.bit_length() + 8) // 8, "little", signed=True)


def _float(value: float) -> bytes:
    if value.is_integer():
        return _integer(int(value))
    # One NaN stands for all: NaN keys would otherwise scatter by their payload bits.
    return b"f" + _DOUBLE.pack(value if value == value else float("nan"))


def _decimal(value: decimal.Decimal) -> bytes:
    if not value.is_finite():
        return _float(float(value))
    if value == value.to_integral_value():
        return _integer(int(value))
    as_float = float(value)
    if value == as_float:
        return _float(as_float)
    return b"d" + str(value.normalize()).encode()


def _datetime(value: datetime.datetime) -> bytes:
    if value.tzinfo is None:
        return b"n" + value.replace(fold=0).isoformat(timespec="microseconds").encode()
    return b"u" + value.astimezone(datetime.UTC).isoformat(timespec="microseconds").encode()


def _time(value: datetime.time) -> bytes:
    offset = value.utcoffset()
    if offset is None:
        return b"o" + value.replace(fold=0).isoformat(timespec="microseconds").encode()
    anchored = datetime.datetime.combine(datetime.date(2000, 1, 2), value)
    return b"z" + _integer(
        round((anchored - datetime.datetime(2000, 1, 2, tzinfo=datetime.UTC)).total_seconds() * 1e6)
    )


def _delta(value: datetime.timedelta) -> bytes:
    return b"t" + _integer(value // datetime.timedelta(microseconds=1))


def _tuple(value: tuple[Any, ...]) -> bytes:
    parts = [encode_key(item) for item in value]
    return b"(" + b"".join(len(part).to_bytes(4, "little") + part for part in parts)


# Subclasses are looked up in this order, so datetime stands before date.
_ENCODERS: dict[type, Callable[[Any], bytes]] = {
    str: lambda value: b"s" + value.encode("utf-8", "surrogatepass"),
    bool: _integer,
    int: _integer,
    float: _float,
    bytes: lambda value: b"b" + value,
    type(None): lambda _: b"0",
    tuple: _tuple,
    uuid.UUID: lambda value: b"U" + value.bytes,
    decimal.Decimal: _decimal,
    datetime.datetime: _datetime,
    datetime.date: lambda value: b"D" + value.isoformat().encode(),
    datetime.time: _time,
    datetime.timedelta: _delta,
}
