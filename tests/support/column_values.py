"""Values of every kind that columns and rows carry between them."""

from __future__ import annotations

import datetime
import decimal
import math
import zoneinfo
from typing import Any

import pyarrow as pa

ZONED = pa.timestamp("us", "Europe/Berlin")
SPRING = datetime.datetime(2026, 3, 29, 3, 0, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin"))
#: name of a column → its type and what is in it
VALUES: dict[str, tuple[Any, list[Any]]] = {
    "text": (pa.string(), ["", "a", "ß\U0001f600", None, "x" * 1_000_000]),
    "bytes": (pa.binary(), [b"", b"\0\xff", None]),
    "large": (pa.large_string(), ["a", None]),
    "whole": (pa.int64(), [0, -(2**63), 2**63 - 1, None]),
    "small": (pa.uint8(), [0, 255, None]),
    "number": (pa.float64(), [0.0, -0.0, 1.5, math.inf, math.nan, None]),
    "yes": (pa.bool_(), [True, False, None]),
    "words": (pa.dictionary(pa.int32(), pa.string()), ["a", "b", "a", None]),
    "price": (pa.decimal128(12, 3), [decimal.Decimal("1.500"), decimal.Decimal("-0.001"), None]),
    "day": (pa.date32(), [datetime.date(1, 1, 1), datetime.date(9999, 12, 31), None]),
    "moment": (ZONED, [SPRING, None]),
    "naive": (pa.timestamp("ms"), [datetime.datetime(1970, 1, 1, 0, 0, 0, 1000), None]),
    "span": (pa.duration("us"), [datetime.timedelta(microseconds=-1), None]),
    "list": (pa.list_(pa.int8()), [[], [1, None], None]),
    "struct": (pa.struct([("a", pa.string()), ("b", pa.int32())]), [{"a": "x", "b": None}, None]),
    "nothing": (pa.null(), [None, None]),
}
