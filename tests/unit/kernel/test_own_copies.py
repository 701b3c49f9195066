"""Copies that share nothing that can change, and values that need none."""

from __future__ import annotations

import enum
import hashlib
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec
import pytest

from heronpy.kernel.own_copies import own_copy
from heronpy.pipeline import Result


class Colour(enum.Enum):
    RED = 1


class Point(NamedTuple):
    x: int
    about: Any = None


@dataclass(frozen=True)
class Frozen:
    x: Any


@dataclass
class Box:
    values: list[Any] = field(default_factory=list)


class Loose(Frozen):
    """Not frozen itself: may be given more than its fields."""


class Struct(msgspec.Struct, frozen=True):
    x: Any


class Open(msgspec.Struct):
    x: Any


class Tagged(list[int]):
    """A list with an attribute."""

    tag: Any = None


FIXED = [
    7, "text", 1.5, None, (1, ("two", b"3")), frozenset({1}), datetime(2026, 1, 1, tzinfo=UTC), Colour.RED,
    Point(1), Frozen((1, "a")), Struct(Frozen(1)), Result("key", 5),
]  # fmt: skip


@pytest.mark.parametrize("value", FIXED, ids=repr)
def test_what_cannot_change_is_no_other(value: Any) -> None:
    assert own_copy(value) is value
    again = own_copy([value])
    assert again[0] is value


CHANGING: list[Any] = [
    [1], {1}, {1: "one"}, Counter("abba"), deque([1]), defaultdict(list, {1: [2]}), {1: [2]}, [[1]],
    (1, [2]), Point(1, [2]), Frozen([1]), Struct({1}), Open(1), Box([1]), [Box([1])], Box([Box([1])]),
    bytearray(b"a"),
]  # fmt: skip


@pytest.mark.parametrize("value", CHANGING, ids=repr)
def test_a_copy_is_equal_and_stays_so(value: Any) -> None:
    made = own_copy(value)
    assert made == value
    assert made is not value
    assert type(made) is type(value)
    shared = {id(part) for part in _parts(value)} & {id(part) for part in _parts(made)}
    assert not shared


def _parts(value: Any) -> list[Any]:
    """The lists, sets, dicts and boxes in it."""
    if isinstance(value, Box):
        return [value, *_parts(value.values)]
    if isinstance(value, dict):
        return [value, *(part for one in value.values() for part in _parts(one))]
    if isinstance(value, list | tuple):
        own = [value] if isinstance(value, list) else []
        return [*own, *(part for one in value for part in _parts(one))]
    return [value] if isinstance(value, set | bytearray) else []


def test_attributes_beside_the_values_are_copied_too() -> None:
    tagged, loose = Tagged([1]), Loose(1)
    tagged.tag = ["old"]
    object.__setattr__(loose, "more", ["old"])
    copies: tuple[Any, Any] = own_copy(tagged), own_copy(loose)
    tagged.tag.append("new")
    assert copies[0].tag == ["old"]
    assert copies[1] is not loose


def test_what_has_no_copy_is_an_error_that_says_so() -> None:
    with pytest.raises(TypeError, match=r"a result is a copy of its accumulator, and this HASH has none: .+"):
        own_copy(hashlib.sha256())
