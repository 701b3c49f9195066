"""Key groups of columns: those of the same values row by row, computed in C and in Python."""

from __future__ import annotations

import datetime as dt
import runpy
import struct
import subprocess
import sys
from decimal import Decimal
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.golden_keys import GOLDEN, SMALL_DECIMALS
from support.suite.needs import needs_compiled_module

from heronpy.kernel.flow import compiled
from heronpy.kernel.flow.column_keys import key_groups
from heronpy.kernel.flow.keys import key_group

BERLIN = pa.timestamp("us", "Europe/Berlin")
NAN = float("nan")


def both_ways(columns: list[Any], groups: int = 256) -> list[int]:
    """Groups by the compiled module, and the same in Python."""
    found = key_groups(columns, groups)
    assert found.dtype == np.uint32
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled, "columns", None)
        in_python = key_groups(columns, groups)
    assert in_python.dtype == np.uint32
    groups_of_rows: list[int] = found.tolist()
    assert groups_of_rows == in_python.tolist()
    return groups_of_rows


def test_the_compiled_module_is_in_use_where_there_is_a_compiler() -> None:
    module = needs_compiled_module()
    assert module.__name__ == "heronpy.kernel.flow._column_keys"


def test_an_installation_without_a_compiler_computes_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "heronpy.kernel.flow._column_keys", None)
    assert compiled.__file__ is not None
    assert runpy.run_path(compiled.__file__)["columns"] is None


def test_only_those_who_hash_columns_import_arrow() -> None:
    program = (
        "import heronpy.kernel.flow.column_split, heronpy.kernel.flow.column_keys, sys\n"
        "print({'numpy', 'pyarrow'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize(("kind", "value", "group"), GOLDEN, ids=str)
def test_golden_values(kind: pa.DataType, value: Any, group: int) -> None:
    """Most of them are also in test_keys.py."""
    column = pa.array([value], kind)
    assert both_ways([column]) == [group]
    assert both_ways([column, column]) == [key_group((value, value), 256)]


def test_golden_values_of_several_columns() -> None:
    assert both_ways([pa.array(["a"]), pa.array([1]), pa.array([None])]) == [136]
    assert both_ways([pa.array(["a"]), pa.array([1.0]), pa.array([None], pa.date32())]) == [136]


def test_a_uuid_is_a_key() -> None:
    kind = pa.uuid()
    column = pa.ExtensionArray.from_storage(kind, pa.array([UUID(int=1).bytes, None], pa.binary(16)))
    assert both_ways([column]) == [171, 85]


WHOLE = {
    kind: st.integers(*bounds)
    for size in (8, 16, 32, 64)
    for kind, bounds in (
        (getattr(pa, f"int{size}")(), (-(2 ** (size - 1)), 2 ** (size - 1) - 1)),
        (getattr(pa, f"uint{size}")(), (0, 2**size - 1)),
    )
}
REAL = {
    pa.float16(): st.floats(width=16).map(np.float16),
    pa.float32(): st.floats(width=32),
    pa.float64(): st.floats() | st.integers(-(2**80), 2**80).map(float) | st.just(NAN),
}
TEXT = {kind(): st.text() for kind in (pa.string, pa.large_string, pa.string_view)}
BINARY = {kind(): st.binary() for kind in (pa.binary, pa.large_binary, pa.binary_view)}
EXACT = {
    pa.decimal128(9, 2): st.decimals(-(10**6), 10**6, places=2),
    pa.decimal128(38, 0): st.decimals(-(10**37), 10**37, places=0),
    pa.decimal256(70, 30): st.decimals(-(10**30), 10**30, places=30),
    pa.decimal128(5, -3): st.integers(-99_999, 99_999).map(lambda number: Decimal(number).scaleb(3)),
}
if SMALL_DECIMALS:
    EXACT |= {
        pa.decimal32(9, 2): st.decimals(-(10**6), 10**6, places=2),
        pa.decimal32(5, -3): st.integers(-99_999, 99_999).map(lambda number: Decimal(number).scaleb(3)),
        pa.decimal64(18, 6): st.decimals(-(10**11), 10**11, places=6),
    }
MOMENTS = {
    pa.date32(): st.dates(),
    pa.date64(): st.dates(),
    pa.timestamp("s"): st.datetimes().map(lambda moment: moment.replace(microsecond=0)),
    pa.timestamp("us"): st.datetimes(),
    pa.timestamp("us", "UTC"): st.datetimes(timezones=st.just(dt.UTC)),
    pa.time32("s"): st.times().map(lambda time: time.replace(microsecond=0)),
    pa.time64("us"): st.times(),
    pa.time64("ns"): st.times(),
    pa.duration("us"): st.timedeltas(dt.timedelta(-(10**7)), dt.timedelta(10**7)),
    pa.duration("s"): st.timedeltas().map(lambda time: dt.timedelta(time.days, time.seconds)),
}
VALUES: dict[Any, st.SearchStrategy[Any]] = {
    pa.null(): st.none(),
    pa.bool_(): st.booleans(),
    pa.binary(3): st.binary(min_size=3, max_size=3),
    **WHOLE, **REAL, **TEXT, **BINARY, **EXACT, **MOMENTS,
}  # fmt: skip
VALUES = {kind: st.none() | values for kind, values in VALUES.items()}
KINDS = st.sampled_from(list(VALUES))
#: Arrow makes no dictionaries of these
UNENCODED = [pa.null(), pa.float16(), *(kind for kind in EXACT if kind.bit_width < 128)]
FORMS = st.sampled_from(["plain", "chunked", "dictionary", "words"])


@st.composite
def columns_and_keys(draw: st.DrawFn, rows: int) -> tuple[Any, list[Any]]:
    """A column of any type in any form that Arrow has for it, and its values."""
    kind = draw(KINDS)
    first, behind = draw(st.integers(0, 9)), draw(st.integers(0, 3))
    drawn = draw(st.lists(VALUES[kind], min_size=first + rows + behind, max_size=first + rows + behind))
    array, values = pa.array(drawn, kind), drawn[first : first + rows]
    form = draw(FORMS)
    if form == "dictionary" and kind not in UNENCODED:
        array = array.dictionary_encode()
    elif form == "words" and kind != pa.null():  # a dictionary with nulls, and with words that no row has
        places = pa.array([first + row for row in range(rows)], pa.int64())
        return pa.DictionaryArray.from_arrays(places, array), _plain(values)
    column = array.slice(first, rows)
    if form == "chunked":
        cut = draw(st.integers(0, rows))
        column = pa.chunked_array([column.slice(0, cut), column.slice(cut)], type=kind)
    return column, _plain(values)


def _plain(values: list[Any]) -> list[Any]:
    return [float(value) if isinstance(value, np.floating) else value for value in values]


@settings(max_examples=200)
@given(st.integers(0, 12).flatmap(columns_and_keys), st.sampled_from([1, 7, 256, 2**32]))
def test_a_row_has_the_group_of_its_value(column: tuple[Any, list[Any]], groups: int) -> None:
    found, keys = column
    assert both_ways([found], groups) == [key_group(key, groups) for key in keys]


@settings(max_examples=100)
@given(st.integers(0, 6).flatmap(lambda rows: st.lists(columns_and_keys(rows), min_size=2, max_size=3)))
def test_a_row_of_several_columns_has_the_group_of_the_tuple(columns: list[tuple[Any, list[Any]]]) -> None:
    keys = zip(*(values for _, values in columns), strict=True)
    assert both_ways([column for column, _ in columns]) == [key_group(key, 256) for key in keys]


def test_equal_numbers_of_all_types_are_one_key() -> None:
    kinds = [*WHOLE, *REAL, *(kind for kind in EXACT if kind.scale == 2), pa.decimal256(70, 30)]
    for number in (0, 1, 100):
        found = [both_ways([pa.array([number], pa.int8()).cast(kind)], 2**32) for kind in kinds]
        assert found == [[key_group(number, 2**32)]] * len(kinds)


def test_keys_of_every_length_have_the_hash_of_their_bytes() -> None:
    """XXH3 is another function for 1 to 3, 8, 16, 128, 240 and for more bytes, and in blocks of 1,024."""
    lengths = [*range(300), 1_022, 1_023, 1_024, 1_025, 2_047, 2_048, 2_049, 1_000_000]
    keys = [bytes(place * 7 + length & 255 for place in range(length)) for length in lengths]
    assert both_ways([pa.array(keys)], 2**32) == [key_group(key, 2**32) for key in keys]
    assert both_ways([pa.array(keys), pa.array(keys)]) == [key_group((key, key), 256) for key in keys]


def test_whole_floats_beyond_64_bits_are_the_integers_that_they_equal() -> None:
    powers = [
        sign * 2.0**power * part for power in range(60, 1_024) for sign in (1, -1) for part in (1, 0.75)
    ]
    powers += [sys.float_info.max, -sys.float_info.max]
    found = both_ways([pa.array(powers)], 2**32)
    assert found == [key_group(int(power), 2**32) for power in powers]


def test_every_nan_is_one_key() -> None:
    payloads = [
        struct.unpack("<d", struct.pack("<Q", bits))[0] for bits in (0x7FF0000000000001, 0xFFF8000000000123)
    ]
    assert len(set(both_ways([pa.array([NAN, *payloads], pa.float64())], 2**32))) == 1


def test_the_two_times_of_an_autumn_night_are_one_key() -> None:
    """As in Python, which compares without fold; also in zones that set their clocks by odd amounts."""
    for zone, middle in (
        ("Europe/Berlin", dt.datetime(2024, 10, 27, 1)),
        ("Europe/Amsterdam", dt.datetime(1937, 7, 1)),
        ("Australia/Lord_Howe", dt.datetime(2024, 4, 6, 15)),
    ):
        moments = [middle + dt.timedelta(minutes=number, microseconds=5) for number in range(-90, 90)]
        column = pa.array([*moments, None], pa.timestamp("us")).cast(pa.timestamp("us", zone))
        clock = ZoneInfo(zone)
        keys = [moment.replace(tzinfo=dt.UTC).astimezone(clock) for moment in moments]
        assert both_ways([column], 2**32) == [key_group(key, 2**32) for key in [*keys, None]]
    night = pa.array([dt.datetime(2024, 10, 27, hour, 30) for hour in (0, 1)], pa.timestamp("us"))
    assert len(set(both_ways([night.cast(BERLIN)], 2**32))) == 1
    assert len(set(both_ways([night.cast(pa.timestamp("us", "UTC"))], 2**32))) == 2


def test_times_outside_of_a_day_are_what_python_reads() -> None:
    column = pa.array([-1, 86_400, 86_399], pa.int32()).view(pa.time32("s"))
    assert both_ways([column]) == [key_group(key, 256) for key in column.to_pylist()]
    dates = pa.array([-1, 3 * 86_400_000 - 1], pa.int64()).view(pa.date64())
    assert both_ways([dates]) == [key_group(key, 256) for key in dates.to_pylist()]


def test_runs_and_views_and_columns_of_chunks_that_end_elsewhere() -> None:
    words = ["a", "a", None, "b", "b", "b"]
    groups = [key_group(word, 256) for word in words]
    assert both_ways([pc.run_end_encode(pa.array(words))]) == groups
    one = pa.chunked_array([["a"], ["a", None, "b"], [], ["b", "b"]], pa.string())
    two = pa.chunked_array([[1, 2, 3], [4, 5, 6]], pa.int8())
    expected = [key_group(key, 256) for key in zip(words, range(1, 7), strict=True)]
    assert both_ways([one, two]) == expected
    assert both_ways([one, pa.array(range(1, 7))]) == expected
    assert both_ways([pa.chunked_array([], pa.string())]) == []


def test_text_that_is_no_utf8_is_hashed_by_its_bytes() -> None:
    """Half a surrogate pair, as keys.py writes it, and bytes that no string has."""
    raw = pa.array([b"\xed\xa0\x80", b"\xff\xfe"]).view(pa.string())
    assert both_ways([raw])[0] == key_group("\ud800", 256)


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.int64()),
        pa.struct([("a", pa.int64())]),
        pa.map_(pa.string(), pa.int64()),
        pa.dense_union([pa.field("a", pa.int64())]),
        pa.dictionary(pa.int32(), pa.list_(pa.int64())),
    ],
    ids=str,
)
def test_types_without_an_equal_key_are_refused_by_name_even_without_rows(kind: pa.DataType) -> None:
    column = pa.chunked_array([], kind)
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    with pytest.raises(TypeError) as refused:
        key_groups([column], 256)
    assert str(refused.value) == (
        f"a column of type {inner} cannot be a key: use null, bool, integers, floats, strings, binary,"
        " decimals, dates, times or UUIDs"
    )


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        (pa.array([2**62], pa.timestamp("us")), "date value out of range"),
        (pa.array([10**9], pa.int32()).view(pa.date32()), ""),
        (pa.array([2**62], pa.duration("s")), "too large"),
        (pa.array([0], pa.timestamp("us", "Mars/Olympus")), "Mars/Olympus"),
    ],
    ids=lambda value: str(getattr(value, "type", value)),
)
def test_values_that_python_does_not_have_are_refused(column: Any, reason: str) -> None:
    with pytest.raises(
        TypeError, match=r"^a column of type .* has a value that cannot be a key: .*"
    ) as refused:
        key_groups([column], 256)
    assert reason in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_word_of_a_dictionary_that_no_row_has_is_not_refused() -> None:
    words = pa.array([0, 2**62], pa.timestamp("us"))
    column = pa.DictionaryArray.from_arrays(pa.array([0, None]), words)
    assert both_ways([column]) == [key_group(dt.datetime(1970, 1, 1), 256), 85]


def test_parts_of_a_microsecond_are_refused_with_what_to_do() -> None:
    column = pa.array([1_000, 1_001], pa.timestamp("ns"))
    with pytest.raises(
        TypeError,
        match=r"^a column of type timestamp\[ns\] with parts of microseconds cannot be a key: cast it to us$",
    ):
        key_groups([column], 256)
    assert both_ways([column.slice(0, 1)]) == [key_group(dt.datetime(1970, 1, 1, 0, 0, 0, 1), 256)]


def test_what_is_no_key_at_all_is_refused() -> None:
    for columns, groups in (([], 256), ([pa.array([1])], 0)):
        with pytest.raises(ValueError, match="there must be one at least of each"):
            key_groups(columns, groups)
    with pytest.raises(ValueError, match="different lengths: 1, 2"):
        key_groups([pa.array([1]), pa.array([1, 2])], 256)


@pytest.mark.parametrize(
    "described",
    [
        ("i", b"", 0, b"1234567", None, None),
        ("i", b"", 1, b"12345678", None, None),
        ("i", b"", -1, b"12345678", None, None),
        ("i", b"", 2**62, b"12345678", None, None),
        ("i", b"", 0, b"12345678", None, b""),
        ("i", b"123456789", 0, b"12345678", None, None),
        ("f", b"", 0, None, None, None),
        ("b", b"s", 0, b"abc", struct.pack("<i", 0), None),
        ("b", b"s", 0, b"abc", struct.pack("<ii", 0, 4), None),
        ("b", b"s", 0, b"abc", struct.pack("<ii", -1, 3), None),
        ("b", b"s", 0, b"abc", struct.pack("<ii", 3, 1), None),
        ("B", b"s", 0, None, struct.pack("<qq", 0, 1), None),
        ("B", b"s", 0, b"abc", struct.pack("<qq", -(2**63), 2**63 - 1), None),
        ("x", b"", 0, b"12345678", None, None),
    ],
)
def test_the_compiled_module_reads_nothing_outside_of_the_buffers(described: Any) -> None:
    """A batch may come from another machine, damaged."""
    module = needs_compiled_module()
    with pytest.raises(ValueError, match=r"^a column is shorter than its rows$|outside the data"):
        module.key_groups((described,), 1, 256, bytearray(4))
    with pytest.raises(ValueError, match="no room"):
        module.key_groups((described,), 1, 256, bytearray(3))
