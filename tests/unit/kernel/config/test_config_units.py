"""Durations and sizes: what people write, and what we write back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heronpy.kernel.config.units import format_duration, format_size, parse_duration, parse_size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("250ms", 0.25),
        ("2ms", 0.002),
        ("10s", 10.0),
        ("5m", 300.0),
        ("1.5h", 5400.0),
        ("1d", 86400.0),
        (0.5, 0.5),
    ],
)
def test_a_duration_becomes_seconds(text: str | float, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "size"),
    [("64KB", 65536), ("64kb", 65536), ("1MiB", 1024**2), ("1.5GB", 1610612736), ("100", 100), (7, 7)],
)
def test_a_size_becomes_bytes(text: str | float, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    "text", ["", "ms", "10", "0.5", "10 parsecs", "-1s", "1s2", "1KB", True, -1, float("nan"), float("inf")]
)
def test_what_is_no_duration_is_refused(text: str | float) -> None:
    with pytest.raises(ValueError):
        parse_duration(text)


@pytest.mark.parametrize("text", ["", "KB", "10s", "0.5B", "-1KB", 0.5, True])
def test_what_is_no_size_is_refused(text: str | float) -> None:
    with pytest.raises(ValueError):
        parse_size(text)


def test_values_are_shown_in_their_largest_whole_unit() -> None:
    assert [format_duration(value) for value in (0, 0.25, 90, 300, 7200)] == [
        "0s",
        "250ms",
        "90s",
        "5m",
        "2h",
    ]
    assert [format_size(value) for value in (0, 1, 65536, 1024**2, 1536)] == [
        "0B",
        "1B",
        "64KB",
        "1MB",
        "1536B",
    ]


@given(st.integers(min_value=0, max_value=10**15))
def test_any_size_survives_being_shown(size: int) -> None:
    assert parse_size(format_size(size)) == size


@given(st.integers(min_value=0, max_value=10**12))
def test_any_whole_number_of_microseconds_survives_being_shown(microseconds: int) -> None:
    seconds = microseconds / 1_000_000
    assert parse_duration(format_duration(seconds)) == pytest.approx(seconds, rel=1e-12)
