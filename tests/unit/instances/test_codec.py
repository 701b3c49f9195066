"""The codec: whatever is emitted arrives with the same value and the same type."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import math
import pickle
from collections import OrderedDict, namedtuple
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heronpy.instances.output.codec import Codec, PlainCodec, SerializerCodec
from heronpy.instances.saving.state.encoding import decode_group, encode_chunk
from heronpy.kernel.errors import ProtocolError


class Colour(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    LOW = 1


class Word(str):
    __slots__ = ()


@dataclasses.dataclass(frozen=True)
class Point:
    x: int
    label: Any


Pair = namedtuple("Pair", "left right")


class Reversing:
    """A user's serializer: pickles, and turns the bytes round to prove that it was asked."""

    def serialize(self, obj: object) -> bytes:
        return pickle.dumps(obj)[::-1]

    def deserialize(self, input_str: bytes) -> object:
        return pickle.loads(input_str[::-1])


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(st.characters()), st.binary(),
    st.complex_numbers(allow_nan=False), st.decimals(allow_nan=False), st.dates(), st.times(), st.datetimes(),
    st.timedeltas(), st.uuids(), st.sampled_from([Colour.RED, Level.LOW, Word("w"), bytearray(b"b")]),
)  # fmt: skip
HASHABLE = st.one_of(
    st.integers(), st.text(st.characters()), st.booleans(), st.dates(), st.tuples(st.integers())
)


def nest(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text(st.characters()), inner, max_size=3),
        st.dictionaries(HASHABLE, inner, max_size=3),
        st.sets(HASHABLE, max_size=3),
        st.frozensets(HASHABLE, max_size=3),
        st.builds(Point, st.integers(), inner),
        st.builds(Pair, inner, inner),
    )


VALUES = st.recursive(SCALARS, nest, max_leaves=8)


def same(left: Any, right: Any) -> bool:
    """Equal in value and in type, all the way down; NaN is itself."""
    if type(left) is not type(right):
        return False
    if isinstance(left, float):
        return (math.isnan(left) and math.isnan(right)) or (
            math.copysign(1, left) == math.copysign(1, right) and left == right
        )
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return same(list(left.items()), list(right.items()))
    if isinstance(left, Point):
        return same(dataclasses.astuple(left), dataclasses.astuple(right))
    return bool(left == right)


@given(st.lists(st.tuples(VALUES, VALUES), max_size=4))
def test_every_value_keeps_its_type(rows: list[tuple[Any, ...]]) -> None:
    codec = PlainCodec()
    assert same(codec.decode(codec.encode([codec.freeze(row) for row in rows])), [list(row) for row in rows])


@given(st.lists(st.tuples(st.text(), st.integers(-(2**63), 2**64 - 1), st.floats()), max_size=20))
def test_plain_batches_are_plain_messagepack(rows: list[tuple[Any, ...]]) -> None:
    """So that anybody can read them, and no pickle is opened."""
    assert same(msgspec.msgpack.decode(PlainCodec().encode(rows)), [list(row) for row in rows])


@pytest.mark.parametrize(
    "value",
    [
        2**64, -(2**63) - 1, "\ud800", {"\ud800": 1}, [1, [2**64]], {"a": (1, 2)}, {1: "a"}, OrderedDict(a=1),
        Decimal("0.10"), dt.datetime(2024, 1, 1), msgspec.msgpack.Ext(1, b"x"), Colour.RED, Level.LOW,
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_what_messagepack_would_change_or_refuse_arrives_all_the_same(value: Any) -> None:
    codec = PlainCodec()
    [[arrived, neighbour]] = codec.decode(codec.encode([codec.freeze((value, "plain"))]))
    assert same(arrived, value)
    assert neighbour == "plain"


def test_a_number_of_few_digits_travels_and_is_saved_in_few_bytes() -> None:
    vast = Decimal("-1.5E+999999999999")
    codec = PlainCodec()
    payload = codec.encode([codec.freeze((vast,))])
    chunk = encode_chunk({vast: vast, (vast, 1): 10**20_000})
    assert codec.decode(payload) == [[vast]]
    assert decode_group(chunk) == {vast: vast, (vast, 1): 10**20_000}
    assert len(payload) < 100
    assert len(chunk) < 8600, "10**20000 has 8305 bytes"


@pytest.mark.parametrize("codec", [PlainCodec(), SerializerCodec(Reversing())], ids=["plain", "serializer"])
def test_a_frozen_row_does_not_change_any_more(codec: Codec) -> None:
    values: list[Any] = [[1], {"a": [1]}, {1}, bytearray(b"1"), Point(1, [1]), 2**70, "\ud800"]
    frozen = codec.freeze(tuple(values))
    values[0].append(2)
    values[1]["a"].append(2)
    values[2].add(2)
    values[3].append(50)
    values[4].label.append(2)
    [arrived] = codec.decode(codec.encode([frozen]))
    assert arrived == [[1], {"a": [1]}, {1}, bytearray(b"1"), Point(1, [1]), 2**70, "\ud800"]


def test_a_list_that_holds_itself_arrives() -> None:
    knot: list[Any] = [1]
    knot.append(knot)
    codec = PlainCodec()
    [[arrived]] = codec.decode(codec.encode([codec.freeze((knot,))]))
    assert arrived[1] is arrived


def test_functions_and_local_classes_travel() -> None:
    class Local:
        answer = 42

    codec = PlainCodec()
    [[double, local]] = codec.decode(codec.encode([codec.freeze((lambda x: 2 * x, Local()))]))
    assert double(21) == local.answer


def test_an_unknown_extension_is_refused() -> None:
    with pytest.raises(ProtocolError, match="unknown extension type 9 in a batch"):
        PlainCodec().decode(msgspec.msgpack.encode([[msgspec.msgpack.Ext(9, b"")]]))


@given(st.lists(st.tuples(VALUES, VALUES), max_size=3))
def test_a_users_serializer_gets_every_value(rows: list[tuple[Any, ...]]) -> None:
    codec = SerializerCodec(Reversing())
    payload = codec.encode([codec.freeze(row) for row in rows])
    assert same(codec.decode(payload), [list(row) for row in rows])
    assert msgspec.msgpack.decode(payload) == [[pickle.dumps(value)[::-1] for value in row] for row in rows]
