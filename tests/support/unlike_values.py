"""Values that a column takes and gives back as others, and those that do not fit it."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import uuid
import zoneinfo
from typing import Any

import numpy as np
import pyarrow as pa
from support.golden_keys import SMALL_DECIMALS


class Word(enum.StrEnum):
    """A str of another type."""

    A = "a"


BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")
ZONED = pa.timestamp("us", "Europe/Berlin")
NOON = dt.datetime(2026, 1, 1, 12)
UTC = zoneinfo.ZoneInfo("UTC")
UTC_NOON = NOON.replace(tzinfo=UTC)
#: the same moment in two ways, of which Python says that they differ: the hour comes twice
LATE = dt.datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=BERLIN)
LATE_UTC = dt.datetime(2026, 10, 25, 1, 30, tzinfo=UTC)
NUMBER = uuid.UUID(int=7)

#: type of a key, what is emitted, and what every reader gets
KEYS: list[tuple[Any, Any, Any]] = [
    (pa.null(), None, None),
    (pa.bool_(), True, True),
    *((kind, 7, 7) for kind in (pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32())),
    (pa.int64(), 2.0, 2),
    (pa.int64(), None, None),
    (pa.uint64(), 2**64 - 1, 2**64 - 1),
    (pa.float16(), np.float16(0.1), float(np.float16(0.1))),
    (pa.float32(), 0.1, float(np.float32(0.1))),
    (pa.float32(), 3, 3.0),
    (pa.float64(), 3, 3.0),
    (pa.float64(), float("nan"), float("nan")),
    (pa.float64(), np.float32(0.1), float(np.float32(0.1))),
    *((kind, b"abc", "abc") for kind in (pa.string(), pa.large_string(), pa.string_view())),
    (pa.string(), "ß", "ß"),
    (pa.string(), Word.A, "a"),
    *((kind, "ß", "ß".encode()) for kind in (pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(2))),
    (pa.binary(), bytearray(b"a"), b"a"),
    (pa.decimal128(9, 2), 3, decimal.Decimal("3.00")),
    (pa.decimal128(9, 2), decimal.Decimal("1.5"), decimal.Decimal("1.50")),
    (pa.decimal256(50, 2), decimal.Decimal("1.5"), decimal.Decimal("1.50")),
    (pa.date32(), NOON.date(), NOON.date()),
    (pa.date64(), NOON.date(), NOON.date()),
    *((pa.timestamp(unit), NOON, NOON) for unit in ("s", "ms", "us", "ns")),
    (pa.timestamp("ms"), 1_000, dt.datetime(1970, 1, 1, 0, 0, 1)),
    (pa.timestamp("us", "UTC"), NOON.replace(tzinfo=BERLIN), UTC_NOON - dt.timedelta(hours=1)),
    (pa.timestamp("us", "UTC"), LATE, LATE_UTC),
    (ZONED, LATE_UTC, LATE),
    (ZONED, LATE, LATE),
    (pa.time32("s"), dt.time(1, 2, 3), dt.time(1, 2, 3)),
    (pa.time64("ns"), dt.time(1, 2, 3, 4), dt.time(1, 2, 3, 4)),
    *((pa.duration(unit), dt.timedelta(1), dt.timedelta(1)) for unit in ("s", "ms", "us", "ns")),
    (pa.uuid(), NUMBER, NUMBER),
    (pa.uuid(), NUMBER.bytes, NUMBER),
    (pa.dictionary(pa.int8(), pa.string()), b"abc", "abc"),
    (pa.dictionary(pa.int8(), pa.float32()), 0.1, float(np.float32(0.1))),
    (pa.dictionary(pa.int32(), pa.timestamp("us", "UTC")), LATE, LATE_UTC),
    (pa.run_end_encoded(pa.int32(), pa.string()), b"abc", "abc"),
]
if SMALL_DECIMALS:
    KEYS += [(kind(9, 2), 3, decimal.Decimal("3.00")) for kind in (pa.decimal32, pa.decimal64)]

#: types that are no keys
OTHERS: list[tuple[Any, Any, Any]] = [
    (pa.list_(pa.float64()), (1, None), [1.0, None]),
    (pa.list_(pa.int8()), np.array([1, 2]), [1, 2]),
    (pa.struct([("a", pa.string()), ("b", pa.int8())]), {"a": b"x"}, {"a": "x", "b": None}),
    (pa.map_(pa.string(), pa.int8()), {"a": 1}, [("a", 1)]),
]

UNFIT: list[tuple[Any, Any]] = [
    (pa.int64(), "seven"),
    (pa.int64(), 1.5),
    (pa.int64(), decimal.Decimal("1.5")),
    (pa.int8(), 128),
    (pa.uint8(), -1),
    (pa.int64(), 2**63),
    (pa.bool_(), 1),
    (pa.string(), 7),
    (pa.string(), b"\xff"),
    (pa.string(), "\ud800"),
    (pa.binary(2), b"abc"),
    (pa.float32(), 1e300),
    (pa.float64(), 2**53 + 1),
    (pa.float64(), "1"),
    (pa.decimal128(5, 1), decimal.Decimal("1.55")),
    (pa.date32(), NOON),
    (pa.date64(), NOON),
    (pa.timestamp("us"), UTC_NOON),
    (pa.timestamp("us", "UTC"), NOON),
    (pa.timestamp("ms"), NOON.replace(microsecond=1)),
    (pa.timestamp("ns"), 1_001),
    (pa.timestamp("us"), NOON.date()),
    (pa.time64("us"), NOON.time().replace(tzinfo=dt.UTC)),
    (pa.time32("s"), dt.time(1, 2, 3, 4)),
    (pa.duration("s"), dt.timedelta(microseconds=1)),
    (pa.null(), 0),
    (pa.dictionary(pa.int8(), pa.timestamp("us")), UTC_NOON),
    (pa.list_(pa.int8()), [1.5]),
    (pa.list_(pa.date32()), [NOON]),
    (pa.struct([("a", pa.int8())]), {"a": 1, "b": 2}),
    (pa.struct([("a", pa.timestamp("us"))]), {"a": UTC_NOON}),
    (pa.map_(pa.string(), pa.int8()), {"a": 1.5}),
]
