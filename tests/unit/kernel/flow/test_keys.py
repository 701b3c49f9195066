"""Keys: equal in Python means the same key group, in every process and for ever."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import fractions
import subprocess
import sys
import uuid
from collections import Counter, namedtuple
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heronpy.kernel.flow.keys import encode_key, key_group


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


class Coded(int, enum.Enum):
    """An int whose value is something else: it equals the int all the same."""

    def __new__(cls, number: int, label: str) -> Coded:
        member = int.__new__(cls, number)
        member._value_ = label
        return member

    FIRST = 1, "first"


class Vast(enum.IntEnum):
    """Its own hash is that of its name, which another process salts differently."""

    POWER = 10**20_000


class Exact(Decimal):
    """Equal to its value, with a hash of its own."""

    __slots__ = ()
    __eq__ = Decimal.__eq__

    def __hash__(self) -> int:
        return 7


class Word(str):
    __slots__ = ()


class Unfixed(dt.tzinfo):
    """A zone that does not know its offset: such times count as naive."""

    def utcoffset(self, moment: dt.datetime | None) -> None:
        return None

    dst = utcoffset

    def tzname(self, moment: dt.datetime | None) -> str:
        return "unfixed"


Pair = namedtuple("Pair", "left right")
UTC = dt.UTC
EAST = dt.timezone(dt.timedelta(hours=2))
BERLIN = ZoneInfo("Europe/Berlin")
NAN = float("nan")

GOLDEN: list[tuple[object, bytes, int]] = [
    (None, b"0", 85),
    (True, b"i\x01", 173),
    (0, b"i\x00", 205),
    (-1, b"i\xff", 128),
    (255, b"i\xff\x00", 89),
    (256, b"i\x00\x01", 198),
    (-(2**63), b"i\x00\x00\x00\x00\x00\x00\x00\x80\xff", 216),
    (2**64, b"i\x00\x00\x00\x00\x00\x00\x00\x00\x01", 47),
    (1.5, b"f\x00\x00\x00\x00\x00\x00\xf8?", 115),
    (-0.25, b"f\x00\x00\x00\x00\x00\x00\xd0\xbf", 97),
    (float("inf"), b"f\x00\x00\x00\x00\x00\x00\xf0\x7f", 8),
    (float("nan"), b"f\x00\x00\x00\x00\x00\x00\xf8\x7f", 60),
    ("", b"s", 19),
    ("heron", b"sheron", 227),
    ("grüße 🐦", b"sgr\xc3\xbc\xc3\x9fe \xf0\x9f\x90\xa6", 107),
    ("\ud800", b"s\xed\xa0\x80", 125),
    (b"", b"b", 63),
    (b"\x00heron", b"b\x00heron", 121),
    (Decimal("0.1"), b"d1e-1", 177),
    (Decimal("-12.50"), b"f\x00\x00\x00\x00\x00\x00)\xc0", 84),
    (Decimal("12.345E-7"), b"d12345e-10", 220),
    (Decimal("1E+10000"), b"h|\xe7\xfaW\x85\x9b:\x0b", 6),
    (Decimal("-1E+999999999"), b"hv0\x18\x1f?\x9e\xae\xf8", 13),
    (uuid.UUID(int=1), b"U\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01", 171),
    (dt.date(2024, 2, 29), b"D2024-02-29", 228),
    (dt.datetime(2024, 2, 29, 12, 30, 15, 7), b"ni\xc7c\nk\x83\xd2\xe2\x00", 64),
    (dt.datetime(2024, 2, 29, 12, 30, tzinfo=EAST), b"ui\x00:\xfe\xbc\x81\xd2\xe2\x00", 205),
    (dt.time(12, 30), b"oi\x00\x825z\n", 61),
    (dt.time(0, 30, tzinfo=EAST), b'zi\x00\x8a"\xbe\xfe', 102),
    (dt.timedelta(days=-1, microseconds=3), b"ti\x03\xa0(\xe2\xeb", 27),
    ((), b"(", 36),
    (("a",), b"(\x02\x00\x00\x00sa", 144),
    (("a", 1, None), b"(\x02\x00\x00\x00sa\x02\x00\x00\x00i\x01\x01\x00\x00\x000", 136),
    ((("a",), "b"), b"(\x07\x00\x00\x00(\x02\x00\x00\x00sa\x02\x00\x00\x00sb", 232),
    (Colour.RED, b"sred", 123),
    (Level.LOW, b"i\x01", 173),
]


@pytest.mark.parametrize(("key", "encoded", "group"), GOLDEN, ids=lambda value: repr(value)[:40])
def test_golden_values(key: object, encoded: bytes, group: int) -> None:
    """These must never change: state on disk is ordered by them."""
    assert encode_key(key) == encoded
    assert key_group(key, 256) == group


def test_the_group_is_the_same_in_another_process() -> None:
    program = (
        "from heronpy.kernel.flow.keys import key_group\n"
        "print([key_group(key, 256) for key in ('a', 1, (b'x', None))])"
    )
    groups = [key_group(key, 256) for key in ("a", 1, (b"x", None))]
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        )
        assert done.stdout.strip() == str(groups)


EQUAL: list[list[Any]] = [
    [1, 1.0, True, Decimal(1), Decimal("1.000"), Decimal("1E+0"), Level.LOW, Coded.FIRST],
    [0, 0.0, -0.0, False, Decimal("-0"), Decimal("0E+3")],
    [100, 1e2, Decimal("1E+2")],
    [0.5, Decimal("0.5"), Decimal("0.50")],
    [2**70, float(2**70), Decimal(2**70)],
    [float("inf"), Decimal("Infinity")],
    [Decimal("1E+10000"), 10**10_000, Decimal("10E+9999")],
    [Decimal("1E+20000"), 10**20_000, Vast.POWER, Exact("1E+20000")],
    [0, Decimal("0E+999999999"), Decimal("-0E-999999999")],
    [NAN, -NAN, Decimal("NaN"), Decimal("sNaN"), float("nan")],
    [Decimal("0.1"), Decimal("0.10"), Decimal("1E-1")],
    ["red", Word("red"), Colour.RED],
    [(1, "a"), Pair(True, Word("a"))],
    [dt.datetime(2024, 1, 1, 12, tzinfo=UTC), dt.datetime(2024, 1, 1, 14, tzinfo=EAST)],
    [dt.datetime(2024, 10, 27, 2, tzinfo=BERLIN), dt.datetime(2024, 10, 27, 2, fold=1, tzinfo=BERLIN)],
    [dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1, fold=1), dt.datetime(2024, 1, 1, tzinfo=Unfixed())],
    [dt.time(12, tzinfo=UTC), dt.time(14, tzinfo=EAST)],
    [dt.time(12), dt.time(12, fold=1), dt.time(12, tzinfo=BERLIN)],
    [dt.timedelta(days=1), dt.timedelta(hours=24)],
]  # fmt: skip


@pytest.mark.parametrize("equals", EQUAL, ids=lambda equals: repr(equals[0]))
def test_equal_values_are_one_key(equals: list[Any]) -> None:
    assert {encode_key(key) for key in equals} == {encode_key(equals[0])}
    assert len({key_group(key, 2**32) for key in equals}) == 1


@pytest.mark.parametrize(
    "moment",
    [
        dt.datetime.min.replace(tzinfo=EAST),
        dt.datetime.max.replace(tzinfo=dt.timezone(-dt.timedelta(hours=5))),
    ],
)
def test_moments_at_the_edge_of_the_calendar_are_keys(moment: dt.datetime) -> None:
    assert encode_key(moment) == encode_key(moment.replace())


def test_the_decimal_context_of_a_thread_changes_no_key() -> None:
    long = Decimal("1.23456789012345678901234567890123456789")
    encoded = encode_key(long)
    with decimal.localcontext(decimal.Context(prec=3)):
        assert encode_key(long) == encoded
    assert encode_key(long + Decimal("1E-20")) != encoded
    assert encode_key(Decimal("1.2345678901234567890123456789012345678")) != encoded


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(), st.binary(),
    st.decimals(allow_nan=False), st.uuids(), st.dates(), st.times(), st.datetimes(), st.timedeltas(),
    st.datetimes(timezones=st.just(UTC)), st.text(st.characters(categories=["Cs", "Ll"])),
)  # fmt: skip
KEYS = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4).map(tuple), max_leaves=6)


@given(KEYS, KEYS)
def test_two_keys_are_one_exactly_when_python_says_so(left: Any, right: Any) -> None:
    assert (encode_key(left) == encode_key(right)) == (left == right)


@given(st.integers(), st.decimals(allow_nan=False), st.floats(allow_nan=False))
def test_numbers_of_different_types_agree(whole: int, exact: Decimal, real: float) -> None:
    assert encode_key(whole) == encode_key(Decimal(whole))
    assert encode_key(real) == encode_key(Decimal(real))
    assert (encode_key(exact) == encode_key(real)) == (exact == real)


@given(st.integers(-(10**30), 10**30), st.integers(9_960, 10_040))
def test_a_whole_number_is_one_key_on_both_sides_of_what_is_written_out(digits: int, exponent: int) -> None:
    whole, exact = digits * 10**exponent, Decimal(digits).scaleb(exponent, decimal.Context(prec=40))
    assert whole == exact
    assert encode_key(whole) == encode_key(exact)
    assert encode_key(-whole) == encode_key(exact.copy_negate())
    assert encode_key(whole) != encode_key(whole + 1)


def test_numbers_of_ten_thousand_digits_keep_the_bytes_that_they_always_had() -> None:
    """Their groups are in checkpoints."""
    for largest in (10**10_000 - 1, Decimal("9" * 10_000), -(10**10_000) + 1):
        whole = int(largest)
        assert encode_key(largest) == b"i" + whole.to_bytes(
            whole.bit_length() // 8 + 1, "little", signed=True
        )


@pytest.mark.parametrize("exponent", ["1000000", "999999999", "999999999999999999"])
def test_a_key_of_few_digits_costs_little_whatever_it_stands_for(exponent: str) -> None:
    """Written out, the smallest of these takes a minute and the largest more memory than there is."""
    vast, tiny = Decimal(f"1.5E+{exponent}"), Decimal(f"1.5E-{exponent}")
    keys = [vast, vast.copy_negate(), tiny, (vast, "a"), Decimal(f"2.5E+{exponent}")]
    assert [len(encode_key(key)) for key in keys] == [9, 9, len(f"d15e-{int(exponent) + 1}"), 20, 9]
    assert len({encode_key(key) for key in keys}) == 5
    assert encode_key(Decimal(f"15E+{int(exponent) - 1}")) == encode_key(vast)


def test_vast_keys_spread_evenly() -> None:
    groups = Counter(key_group(Decimal(f"1E+{10_000 + number}"), 64) for number in range(12_800))
    assert len(groups) == 64
    assert min(groups.values()) > 120
    assert max(groups.values()) < 290


@given(st.text(st.characters()), st.integers(1, 5000))
def test_the_short_way_for_strings_agrees_with_the_long_one(text: str, groups: int) -> None:
    assert key_group(text, groups) == key_group(Word(text), groups) < groups


def test_half_a_surrogate_pair_is_a_key_like_any_other() -> None:
    halves = [chr(code) for code in range(0xD800, 0xE000)]
    assert [key_group(half, 256) for half in halves] == [key_group(Word(half), 256) for half in halves]
    assert len({encode_key(half) for half in halves}) == len(halves)


@given(st.lists(st.text("ab(", max_size=3), max_size=4), st.lists(st.text("ab(", max_size=3), max_size=4))
def test_tuples_do_not_run_into_each_other(left: list[str], right: list[str]) -> None:
    assert (encode_key(tuple(left)) == encode_key(tuple(right))) == (left == right)


@pytest.mark.parametrize(
    "value", [[1], {"a": 1}, {1}, 1j, fractions.Fraction(1, 2), bytearray(b"x"), object(), (1, [2])]
)
def test_other_types_are_refused_by_name(value: object) -> None:
    culprit = value[1] if isinstance(value, tuple) else value
    with pytest.raises(TypeError, match=rf"^a {type(culprit).__name__} cannot be a key: use None, bool, int"):
        key_group(value, 256)


@pytest.mark.parametrize("kind", [str, int, float, lambda n: (n, str(n)), lambda n: uuid.UUID(int=n)])
def test_keys_spread_evenly(kind: Any) -> None:
    groups = Counter(key_group(kind(number), 64) for number in range(12_800))
    assert len(groups) == 64
    assert min(groups.values()) > 120
    assert max(groups.values()) < 290
