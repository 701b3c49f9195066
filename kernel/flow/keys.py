"""Keys and key groups: which values are the same key, and which group a key belongs to.

The encoding is part of the state format: changing it moves every key. Golden values are in the tests.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import struct
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from xxhash import xxh3_64_intdigest

_DOUBLE = struct.Struct("<d")
#: Whole numbers of so many digits are written out. Beyond that a Decimal of one digit may stand for one that
#: takes minutes. Python's numeric hash is cheap, the same for equal values of all numeric types, and
#: independent of PYTHONHASHSEED.
_WRITTEN_DIGITS = 10_000
_VAST = 10**_WRITTEN_DIGITS
_VAST_BITS = _VAST.bit_length()


def key_group(key: object, groups: int) -> int:
    """The group of a key; TypeError for a value that has no canonical form."""
    if type(key) is str:  # by far the most common key, so it does not go through the table
        try:
            return xxh3_64_intdigest(b"s" + key.encode()) % groups
        except UnicodeEncodeError:
            pass  # half a surrogate pair, which only the table's encoder lets through
    return xxh3_64_intdigest(encode_key(key)) % groups


def key_groups(keys: Sequence[object], groups: int) -> list[int]:
    """The group of each key; TypeError as key_group()."""
    if keys and set(map(type, keys)) == {str}:
        try:
            return [xxh3_64_intdigest(b"s" + key.encode()) % groups for key in keys]  # type: ignore[attr-defined]
        except UnicodeEncodeError:
            pass
    return [key_group(key, groups) for key in keys]


def encode_key(key: object) -> bytes:
    """A canonical form: equal in Python means equal bytes, in every process and for ever.

    Its cost grows with the size of the key, not of its value. Whole numbers from 10**10000 on may share their
    bytes with others.
    """
    encoder = _ENCODERS.get(type(key))
    if encoder is not None:
        return encoder(key)
    for base, encode in _ENCODERS.items():
        if isinstance(key, base):
            return encode(key)
    # Behind the others: an enum that is also an int or str equals that int or str, whatever its value.
    if isinstance(key, enum.Enum):
        return encode_key(key.value)
    msg = (
        f"a {type(key).__name__} cannot be a key: use None, bool, int, float, str, bytes, a date or time,"
        " UUID, Decimal, an enum, or a tuple of these"
    )
    raise TypeError(msg)


def _integer(value: int) -> bytes:
    number = int(value)  # an enum has a hash of its own
    bits = number.bit_length()
    if bits >= _VAST_BITS and abs(number) >= _VAST:
        return _vast(hash(number))
    return b"i" + number.to_bytes((bits + 8) // 8, "little", signed=True)


def _vast(numeric_hash: int) -> bytes:
    return b"h" + numeric_hash.to_bytes(8, "little", signed=True)


def _float(value: float) -> bytes:
    if value.is_integer():
        return _integer(int(value))
    # One NaN stands for all: NaN keys would otherwise scatter by their payload bits.
    return b"f" + _DOUBLE.pack(value if value == value else float("nan"))


def _decimal(value: decimal.Decimal) -> bytes:
    if value.is_nan():
        return _float(float("nan"))
    if value.is_infinite():
        return _float(float(value))
    if not value:
        return _integer(0)  # whatever its exponent
    if value == value.to_integral_value():
        if value.adjusted() < _WRITTEN_DIGITS:
            return _integer(int(value))
        return _vast(decimal.Decimal.__hash__(value))
    as_float = float(value)
    if value == as_float:
        return _float(as_float)
    # Not normalize(): it rounds to whatever precision this thread's decimal context has.
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits))
    kept = text.rstrip("0")
    return f"d{'-' if sign else ''}{kept}e{exponent + len(text) - len(kept)}".encode()


def _datetime(value: datetime.datetime) -> bytes:
    # Python compares and hashes without fold, so the two 2:30s of an autumn night are one key.
    value = value.replace(fold=0)
    offset = value.utcoffset()
    elapsed = value.replace(tzinfo=None) - datetime.datetime.min
    return b"n" + _microseconds(elapsed) if offset is None else b"u" + _microseconds(elapsed - offset)


def _time(value: datetime.time) -> bytes:
    value = value.replace(fold=0)
    offset = value.utcoffset()
    elapsed = datetime.timedelta(0, value.second, value.microsecond, 0, value.minute, value.hour)
    return b"o" + _microseconds(elapsed) if offset is None else b"z" + _microseconds(elapsed - offset)


def _microseconds(value: datetime.timedelta) -> bytes:
    return _integer(value // datetime.timedelta(microseconds=1))


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
    datetime.timedelta: lambda value: b"t" + _microseconds(value),
}
