"""Key groups of values in columns, among 256. They must never change: state on disk is ordered by them."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa

GOLDEN: list[tuple[pa.DataType, Any, int]] = [
    (pa.null(), None, 85),
    (pa.string(), None, 85),
    (pa.bool_(), True, 173),
    (pa.int8(), -1, 128),
    (pa.int16(), 255, 89),
    (pa.uint16(), 256, 198),
    (pa.int64(), -(2**63), 216),
    (pa.decimal128(20), Decimal(2**64), 47),
    (pa.float64(), float(2**64), 47),
    (pa.float32(), 1.0, 173),
    (pa.float64(), -0.0, 205),
    (pa.float64(), 1.5, 115),
    (pa.float32(), -0.25, 97),
    (pa.float64(), float("inf"), 8),
    (pa.float64(), -math.nan, 60),
    (pa.string(), "", 19),
    (pa.string(), "heron", 227),
    (pa.large_string(), "grüße 🐦", 107),
    (pa.string_view(), "heron", 227),
    (pa.dictionary(pa.int8(), pa.string()), "heron", 227),
    (pa.binary(), b"", 63),
    (pa.large_binary(), b"\x00heron", 121),
    (pa.binary_view(), b"\x00heron", 121),
    (pa.binary(6), b"\x00heron", 121),
    (pa.decimal128(3, 1), Decimal("0.1"), 177),
    (pa.decimal128(5, 2), Decimal("-12.50"), 84),
    (pa.decimal256(60, 10), Decimal("12.345E-7"), 220),
    (pa.date32(), dt.date(2024, 2, 29), 228),
    (pa.date64(), dt.date(2024, 2, 29), 228),
    (pa.timestamp("us"), dt.datetime(2024, 2, 29, 12, 30, 15, 7), 64),
    (pa.timestamp("s", "UTC"), dt.datetime(2024, 2, 29, 10, 30, tzinfo=dt.UTC), 205),
    (pa.timestamp("ms", "Europe/Berlin"), dt.datetime(2024, 2, 29, 10, 30, tzinfo=dt.UTC), 205),
    (pa.timestamp("ns", "+02:00"), dt.datetime(2024, 2, 29, 10, 30, tzinfo=dt.UTC), 205),
    (pa.time32("s"), dt.time(12, 30), 61),
    (pa.time64("us"), dt.time(12, 30), 61),
    (pa.duration("us"), dt.timedelta(days=-1, microseconds=3), 27),
]
#: Arrow 18 has no decimals of 32 and 64 bits
SMALL_DECIMALS = hasattr(pa, "decimal32")
if SMALL_DECIMALS:
    GOLDEN += [
        (pa.decimal32(3, 1), Decimal("0.1"), 177),
        (pa.decimal32(5, 2), Decimal("-12.50"), 84),
        (pa.decimal64(18, 7), Decimal("-12.50"), 84),
        (pa.decimal64(9, 3), Decimal(256), 198),
    ]
