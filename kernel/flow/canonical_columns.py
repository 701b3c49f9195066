"""Arrow columns in the few forms that the encoding of keys has: numbers of 64 bits, bytes, or nothing.

A value is encoded as keys.py encodes what `to_pylist` makes of it; zones are those of `zoneinfo`, which older
versions of pyarrow do not use. A value that Python has no equal for is refused, as is a type without one.
"""

from __future__ import annotations

import datetime
import functools
import re
import zoneinfo
from collections.abc import Callable
from typing import Any, NamedTuple

from heronpy.kernel.flow.keys import encode_key

_BEGINNING = datetime.datetime.min.replace(tzinfo=datetime.UTC)
_DAY = 86_400_000_000
#: microseconds from datetime.min to 1970, and from datetime.min to the end of datetime.max
_EPOCH = 719_162 * _DAY
_CALENDAR = 3_652_059 * _DAY
_MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1}
#: zones whose clocks are never set back
_FIXED_ZONE = re.compile(r"UTC|[+-]\d\d:\d\d")
_MOST = 2**63 - 1


class CanonicalColumn(NamedTuple):
    """The encoded value of a row: the tag, then the value as an int, a float or raw bytes; null is null."""

    tag: bytes
    #: of type int64, uint64, double, binary, large_binary or null
    values: Any


def canonical(array: Any) -> CanonicalColumn:
    """The canonical form of an Arrow array; TypeError for a type or a value that cannot be a key."""
    return converter(array.type)(array)


@functools.lru_cache(256)
def converter(kind: Any) -> Callable[[Any], CanonicalColumn]:
    """What brings arrays of this type into canonical form; TypeError for a type that cannot be a key."""
    import pyarrow.types as types

    for predicates, convert in _CONVERTERS:
        if any(getattr(types, predicate)(kind) for predicate in predicates.split()):
            if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
                converter(kind.value_type)
            return convert
    if getattr(kind, "extension_name", "") == "arrow.uuid":
        return _uuid
    msg = (
        f"a column of type {kind} cannot be a key: use null, bool, integers, floats, strings, binary,"
        " decimals, dates, times or UUIDs"
    )
    raise TypeError(msg)


def is_text_or_bytes(kind: Any) -> bool:
    """Whether its values are hashed as they lie in the column."""
    import pyarrow.types as types

    return any(getattr(types, predicate)(kind) for predicate in f"{_TEXT} {_BINARY}".split())


def _nothing(array: Any) -> CanonicalColumn:
    return CanonicalColumn(b"", array)


def _integer(array: Any) -> CanonicalColumn:
    import pyarrow as pa

    wide = array.type in (pa.int64(), pa.uint64())
    return CanonicalColumn(b"", array if wide else array.cast(pa.int64()))


def _float(array: Any) -> CanonicalColumn:
    import pyarrow as pa

    return CanonicalColumn(b"", array if array.type == pa.float64() else array.cast(pa.float64()))


def _text(array: Any) -> CanonicalColumn:
    return CanonicalColumn(b"s", _as_bytes(array))


def _binary(array: Any) -> CanonicalColumn:
    return CanonicalColumn(b"b", _as_bytes(array))


def _uuid(array: Any) -> CanonicalColumn:
    return CanonicalColumn(b"U", _as_bytes(array.storage))


def _as_bytes(array: Any) -> Any:
    """Without a copy, unless the values are a view or of a fixed size."""
    import pyarrow as pa

    if pa.types.is_string(array.type) or pa.types.is_binary(array.type):
        return array.view(pa.binary())
    if pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type):
        return array.view(pa.large_binary())
    return array.cast(pa.large_binary())


def _dictionary(array: Any) -> CanonicalColumn:
    if is_text_or_bytes(array.type.value_type):
        tag, values = canonical(array.dictionary)
        return CanonicalColumn(tag, values.take(array.indices))
    return canonical(array.dictionary_decode())  # a word of the dictionary that no row has is no key


def _run_ends(array: Any) -> CanonicalColumn:
    import pyarrow.compute as pc

    return canonical(pc.run_end_decode(array))


def _timestamp(array: Any) -> CanonicalColumn:
    import pyarrow as pa
    import pyarrow.compute as pc

    moments = _microseconds(array, pa.int64(), -_EPOCH, _CALENDAR - _EPOCH - 1)
    if moments is None:
        return _one_by_one(array)
    moments, zone = pc.add(moments, _EPOCH), array.type.tz
    if zone is None:
        return CanonicalColumn(b"n", moments)
    return CanonicalColumn(
        b"u", moments if _FIXED_ZONE.fullmatch(zone) else _without_fold(moments, array.type)
    )


def _without_fold(moments: Any, kind: Any) -> Any:
    """When a clock is set back, its hour comes twice: both are one key, the first of them.

    Clocks are set at whole seconds, so one look at each second is enough.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    seconds = pc.divide(moments, 1_000_000).dictionary_encode()
    try:
        clock = zoneinfo.ZoneInfo(kind.tz)
        late = [_seconds_after_first(second, clock) for second in seconds.dictionary.to_pylist()]
    except (OverflowError, ValueError, zoneinfo.ZoneInfoNotFoundError) as error:
        raise _no_key(kind, error) from error
    return pc.subtract(moments, pc.multiply(pa.array(late, pa.int64()), 1_000_000).take(seconds.indices))


def _seconds_after_first(second: int, clock: zoneinfo.ZoneInfo) -> int:
    """How much later it is than the first moment at which the clock shows the same."""
    moment = (_BEGINNING + datetime.timedelta(seconds=second)).astimezone(clock)
    first, now = moment.replace(fold=0).utcoffset(), moment.utcoffset()
    assert first is not None
    assert now is not None
    return (first - now) // datetime.timedelta(seconds=1)


def _date(array: Any) -> CanonicalColumn:
    import pyarrow as pa
    import pyarrow.compute as pc

    found = array.dictionary_encode()
    days = pc.min_max(found.dictionary.view(pa.int32())).as_py()
    if (
        days["min"] is not None
        and not -_EPOCH <= days["min"] * _DAY <= days["max"] * _DAY < _CALENDAR - _EPOCH
    ):
        return _one_by_one(array)
    return CanonicalColumn(b"D", found.dictionary.cast(pa.string()).view(pa.binary()).take(found.indices))


def _time(array: Any) -> CanonicalColumn:
    import pyarrow as pa

    elapsed = _microseconds(array, pa.int32() if array.type.bit_width == 32 else pa.int64(), 0, _DAY - 1)
    return CanonicalColumn(b"o", elapsed) if elapsed is not None else _one_by_one(array)


def _duration(array: Any) -> CanonicalColumn:
    import pyarrow as pa

    elapsed = _microseconds(array, pa.int64(), -_MOST, _MOST)
    return CanonicalColumn(b"t", elapsed) if elapsed is not None else _one_by_one(array)


def _microseconds(array: Any, stored: Any, least: int, most: int) -> Any | None:
    """As numbers of microseconds; None if one of them is outside of these bounds."""
    import pyarrow as pa
    import pyarrow.compute as pc

    numbers = array.view(stored).cast(pa.int64())
    unit = array.type.unit
    if unit == "ns":
        whole = pc.divide(numbers, 1_000)
        if pc.any(pc.not_equal(pc.multiply(whole, 1_000), numbers)).as_py():
            msg = f"a column of type {array.type} with parts of microseconds cannot be a key: cast it to us"
            raise TypeError(msg)
        numbers, factor = whole, 1
    else:
        factor = _MICROSECONDS[unit]
    found = pc.min_max(numbers).as_py()
    if found["min"] is not None and not least <= found["min"] * factor <= found["max"] * factor <= most:
        return None
    return pc.multiply(numbers, factor) if factor > 1 else numbers


def _decimal(array: Any) -> CanonicalColumn:
    import pyarrow as pa

    if array.type.bit_width < 128:  # Arrow finds no distinct values of these
        array = array.cast(pa.decimal128(array.type.precision, array.type.scale))
    return _one_by_one(array)


def _one_by_one(array: Any) -> CanonicalColumn:
    """What Arrow has no vectors for: every distinct value through keys.py."""
    import pyarrow as pa

    found = array.dictionary_encode()
    try:
        encoded = [encode_key(value) for value in found.dictionary.to_pylist()]
    except (OverflowError, ValueError) as error:
        raise _no_key(array.type, error) from error
    return CanonicalColumn(b"", pa.array(encoded, pa.binary()).take(found.indices))


def _no_key(kind: Any, error: Exception) -> TypeError:
    return TypeError(f"a column of type {kind} has a value that cannot be a key: {error}")


_TEXT = "is_string is_large_string is_string_view"
_BINARY = "is_binary is_large_binary is_binary_view is_fixed_size_binary"
#: the most common first; predicates of pyarrow.types
_CONVERTERS: tuple[tuple[str, Callable[[Any], CanonicalColumn]], ...] = (
    (_TEXT, _text),
    ("is_integer is_boolean", _integer),
    ("is_floating", _float),
    (_BINARY, _binary),
    ("is_dictionary", _dictionary),
    ("is_timestamp", _timestamp),
    ("is_time", _time),
    ("is_duration", _duration),
    ("is_date32", _date),
    ("is_decimal", _decimal),
    ("is_date64 is_interval", _one_by_one),
    ("is_null", _nothing),
    ("is_run_end_encoded", _run_ends),
)
