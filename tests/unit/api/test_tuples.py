"""A bolt's view of a tuple: metadata like Apache's named tuple, fields by name."""

from __future__ import annotations

import copy
import keyword
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heronpy.bolt import Bolt
from heronpy.tuple import METADATA, Tuple, TupleHelper, tuple_class

names = st.text("abcdefgh_", min_size=1, max_size=6).filter(lambda name: not keyword.iskeyword(name))
rows = st.dictionaries(names | st.sampled_from(METADATA), st.integers() | st.text(), max_size=6)


def made(fields: tuple[str, ...], values: list[object]) -> Tuple:
    return tuple_class(fields)._make((7, "words", "default", 3, values))


@given(rows)
def test_every_field_is_reached_by_name_and_metadata_stays_metadata(row: dict[str, object]) -> None:
    tup = made(tuple(row), list(row.values()))
    assert [tup[name] for name in row] == list(row.values())
    for name in row:
        if name not in METADATA and not name.startswith("_"):
            assert getattr(tup, name) == row[name]
    assert (tup.id, tup.component, tup.stream, tup.task) == (7, "words", "default", 3)


@given(rows)
def test_it_is_the_named_tuple_that_apache_has(row: dict[str, object]) -> None:
    tup = made(tuple(row), list(row.values()))
    tup_id, component, stream, task, values = tup
    assert (tup_id, component, stream, task, values) == (7, "words", "default", 3, list(row.values()))
    assert tup[4] == tup[-1] == tup.values
    assert tup[1:3] == ("words", "default")
    assert tup._fields == METADATA
    assert tup == (7, "words", "default", 3, list(row.values()))


@given(rows)
def test_it_survives_pickling_and_copying_with_its_fields(row: dict[str, object]) -> None:
    tup = made(tuple(row), list(row.values()))
    for twin in (pickle.loads(pickle.dumps(tup)), copy.deepcopy(tup)):
        assert twin == tup
        assert type(twin) is type(tup)


def test_the_runtime_makes_them_without_a_python_call() -> None:
    cls = tuple_class(("word",))
    first, second = [tuple.__new__(cls, (0, "words", "default", 1, [word])) for word in ("a", "b")]
    assert (first.word, second.word) == ("a", "b")


def test_one_class_per_set_of_fields() -> None:
    assert tuple_class(("word", "count")) is tuple_class(("word", "count"))


def test_a_field_may_be_called_like_a_method_of_tuple() -> None:
    assert made(("word", "count"), ["a", 5]).count == 5


def test_a_misspelt_field_says_which_there_are() -> None:
    tup = made(("word", "count"), ["a", 5])
    with pytest.raises(AttributeError):
        _ = tup.wrod
    with pytest.raises(
        KeyError, match=r"no field 'wrod' in stream 'default' of 'words'; did you mean 'word'\?"
    ):
        _ = tup["wrod"]
    with pytest.raises(KeyError, match="no field 'id'"):
        _ = tup["id"]


def test_a_tick_is_known_by_its_stream() -> None:
    tick = TupleHelper.make_tick_tuple()
    assert Bolt.is_tick(tick)
    assert (tick.id, tick.component, tick.stream) == ("__tick", "__system", "__tick")
    assert not Bolt.is_tick(made(("word",), ["a"]))
