"""Cases that bring two streams together."""

from __future__ import annotations

from typing import Any, Literal

from heronpy.pipeline import Stream
from heronpy.testing.runner_suite.case import CaseBook, CaseSteps

book = CaseBook()

PEOPLE = [(1, "ann"), (2, "bob"), (3, "cy")]
CITIES = [(1, "Oslo"), (1, "Rome"), (4, "Bonn")]
PETS = [(2, "cat"), (4, "dog"), (5, "eel")]


@book.case(
    [
        (1, ["ann"], ["Oslo", "Rome"], []),
        (2, ["bob"], [], ["cat"]),
        (3, ["cy"], [], []),
        (4, [], ["Bonn"], ["dog"]),
        (5, [], [], ["eel"]),
    ]
)
def co_group_of_three_with_missing_sides(t: CaseSteps) -> Stream[Any]:
    people, cities, pets = t.read(PEOPLE, "people"), t.read(CITIES, "cities"), t.read(PETS, "pets")
    two = people.key_by(lambda row: row[0]).co_group(cities.key_by(lambda row: row[0]), name=t.name("two"))
    three = two.key_by(lambda r: r.key).co_group(pets.key_by(lambda row: row[0]), name=t.name("three"))

    def flat(key: int, twos: list[Any], pets: list[tuple[int, str]]) -> tuple[Any, ...]:
        people, cities = twos[0].value if twos else ([], [])
        return key, [n for _, n in people], sorted(n for _, n in cities), [n for _, n in pets]

    return three.map(lambda r: flat(r.key, *r.value))


PAIRS = [(1, "ann", "Oslo"), (1, "ann", "Rome")]
LEFT = [(2, "bob", None), (3, "cy", None)]
RIGHT = [(4, None, "Bonn")]


def _joined(t: CaseSteps, how: Literal["inner", "left", "right", "outer"]) -> Stream[Any]:
    people, cities = t.read(PEOPLE, "people", parts=2), t.read(CITIES, "cities")
    by_id = cities.key_by(lambda row: row[0])
    joined: Stream[Any] = people.key_by(lambda row: row[0]).join(by_id, how=how, name=t.name("join"))
    return joined.map(lambda r: (r.key, *(side and side[1] for side in r.value)))


@book.case(PAIRS)
def join_inner(t: CaseSteps) -> Stream[Any]:
    return _joined(t, "inner")


@book.case([*PAIRS, *LEFT])
def join_left(t: CaseSteps) -> Stream[Any]:
    return _joined(t, "left")


@book.case([*PAIRS, *RIGHT])
def join_right(t: CaseSteps) -> Stream[Any]:
    return _joined(t, "right")


@book.case([*PAIRS, *LEFT, *RIGHT])
def join_outer(t: CaseSteps) -> Stream[Any]:
    return _joined(t, "outer")


@book.case([("ann", "Oslo"), ("ann", "Rome")])
def side_input_for_records_that_have_one(t: CaseSteps) -> Stream[Any]:
    people, cities = t.read(PEOPLE, "people", parts=2), t.read(CITIES, "cities")
    joined = people.hash_join(cities, on=lambda row: row[0], key=lambda row: row[0], name=t.name("join"))
    return joined.map(lambda pair: (pair[0][1], pair[1][1]))


@book.case([("ann", 2), ("bob", None), ("cy", None)])
def side_input_that_is_calculated_first(t: CaseSteps) -> Stream[Any]:
    """A table with steps and keys of its own, and records without a row in it."""
    people = t.read(PEOPLE, "people", parts=2)
    counts = t.read(CITIES, "cities", parts=2).key_by(lambda row: row[0]).count(name=t.name("count"))
    joined = people.hash_join(
        counts, on=lambda row: row[0], key=lambda pair: pair[0], how="left", name=t.name("join")
    )
    return joined.map(lambda pair: (pair[0][1], pair[1] and pair[1][1]))


@book.case([((1, "ann"), None)])
def side_input_that_is_empty(t: CaseSteps) -> Stream[Any]:
    nothing: list[tuple[int, str]] = []
    people, none = t.read(PEOPLE[:1], "people"), t.read(nothing, "none")
    left = people.hash_join(
        none, on=lambda row: row[0], key=lambda row: row[0], how="left", name=t.name("left")
    )
    inner = people.hash_join(none, on=lambda row: row[0], key=lambda row: row[0], name=t.name("inner"))
    return left.merge(inner)
