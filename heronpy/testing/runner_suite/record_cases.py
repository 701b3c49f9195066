"""Cases without keys: what records are, and what each step makes of one."""

from __future__ import annotations

import asyncio
import datetime
import decimal
import enum
import fractions
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from heronpy.pipeline import Stream, agg, sources
from heronpy.testing.runner_suite.case import CaseBook, CaseSteps

book = CaseBook()

VALUES: list[Any] = [
    None,
    True,
    0,
    -1,
    2**63,
    -(2**200),
    1.5,
    -0.0,
    float("inf"),
    "",
    "naïve 🐍",
    "\0 \t \n \\",
    "half of a pair \ud83d",
    b"",
    b"\0\xff",
    bytearray(b"changes"),
    (),
    (1, (2.0, None)),
    [1, [None, "x"]],
    {"a": 1, 2: "b", None: (3,), (4, 5): [6]},
    {7},
    frozenset({8}),
    decimal.Decimal("1.10"),
    fractions.Fraction(1, 3),
    3 + 4j,
    datetime.datetime(2026, 3, 29, 2, 30, 0, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1))),
    datetime.datetime(1969, 12, 31, 23, 59, 59),
    datetime.date(1, 1, 1),
    datetime.time(12, 30),
    datetime.timedelta(microseconds=-1),
    uuid.UUID(int=1),
    range(3),
]


class _Color(enum.Enum):
    RED = "red"


@dataclass(frozen=True)
class _Place:
    name: str
    at: tuple[int, int]


class _Reading(NamedTuple):
    sensor: str
    celsius: float | None


class _Note(msgspec.Struct):
    text: str
    tags: list[str]


OBJECTS: list[Any] = [_Color.RED, _Place("here", (1, 2)), _Reading("a", None), _Note("n", ["x"])]


@book.case(range(1000))
def create_list_roundtrip(t: CaseSteps) -> Stream[Any]:
    return t.read(range(1000), parts=3)


@book.case([])
def empty_input_gives_empty_output(t: CaseSteps) -> Stream[Any]:
    nothing: list[str] = []
    words = t.read(nothing)
    counts = words.key_by(str.lower).count(name=t.name("count"))
    return words.map(str.upper).merge(counts)


@book.case([1, 2, 2, 2, 5])
def map_flat_map_and_filter(t: CaseSteps) -> Stream[Any]:
    lines = t.read(["a of", "", "42 is an", "- other"], parts=2)
    return lines.flat_map(str.split).filter(str.isalpha).map(len).filter(lambda length: length != 42)


@book.case(letter for letter in "abc" for _ in range(3000))
def one_record_becomes_many(t: CaseSteps) -> Stream[Any]:
    def repeated(letter: str) -> Iterator[str]:
        for _ in range(3000):
            yield letter

    return t.read("abc").flat_map(repeated)


@book.case(VALUES)
def values_of_each_type_stay_what_they_are(t: CaseSteps) -> Stream[Any]:
    dealt = t.read(VALUES, parts=2).rebalance().map(lambda value: value)
    return dealt.key_by(repr).dedup(name=t.name("dedup"))


@book.case(OBJECTS)
def objects_of_classes_stay_what_they_are(t: CaseSteps) -> Stream[Any]:
    dealt = t.read(OBJECTS, parts=2).rebalance().map(lambda value: value)
    return dealt.key_by(repr).dedup(name=t.name("dedup"))


@book.case([1, 2, 2, 3, 3, 3])
def merge_of_three_and_of_itself(t: CaseSteps) -> Stream[Any]:
    ones, twos, threes = t.read([1], "ones"), t.read([2], "twos"), t.read([3], "threes")
    return ones.merge(twos, threes).merge(twos.merge(threes), threes)


@book.case([("even", 0), ("odd", 1), ("even", 2), ("odd", 3), ("even", 4)])
def partition_gives_each_record_to_one_side(t: CaseSteps) -> Stream[Any]:
    even, odd = t.read(range(5)).partition(lambda n: n % 2 == 0)
    return even.map(lambda n: ("even", n)).merge(odd.map(lambda n: ("odd", n)))


@book.case(["a", 1, True, "b"])
def only_keeps_the_records_of_its_classes(t: CaseSteps) -> Stream[Any]:
    mixed: list[str | int | float | None] = ["a", 1, 2.5, None, True, "b"]
    return t.read(mixed).only(str, int)


@book.case([1, 2, ("x", "errors_aside.parse", "ValueError: invalid literal for int() with base 10: 'x'")])
def errors_aside(t: CaseSteps) -> Stream[Any]:
    parsed = t.read(["1", "x", "2"]).map(int, name=t.name("parse"), on_error="aside")
    return parsed.merge(parsed.errors.map(lambda failed: (failed.record, failed.step, failed.error)))


@book.case(["1", "2"])
def errors_skipped_leave_nothing_behind(t: CaseSteps) -> Stream[Any]:
    def digits(text: str) -> Iterator[str]:
        for letter in text:
            yield str(int(letter))

    return t.read(["1", "2x", "2"]).flat_map(digits, on_error="skip")


async def _doubled(n: int) -> int:
    await asyncio.sleep(0.002 if n % 10 == 0 else 0)
    return 2 * n


@book.case([tuple(2 * n for n in range(50))], needs="map_async")
def map_async_keeps_the_order(t: CaseSteps) -> Stream[Any]:
    called = t.read(range(50)).map_async(_doubled, at_once=8, name=t.name("call"), par=1)
    one = called.key_by(lambda _: "all")
    in_order = one.aggregate(agg.fold(tuple[int, ...], lambda made, n: (*made, n)), name=t.name("order"))
    return in_order.map(lambda pair: pair[1])


@book.case([2 * n for n in range(50)], needs="map_async(ordered=False)")
def map_async_in_any_order(t: CaseSteps) -> Stream[Any]:
    return t.read(range(50)).map_async(_doubled, at_once=8, ordered=False, name=t.name("call"))


@book.case(range(60))
def a_source_that_has_nothing_at_times_is_read_to_its_end(t: CaseSteps) -> Stream[Any]:
    return t.p.read(sources.rate(200, total=60, parts=2), name=t.name("read"))
