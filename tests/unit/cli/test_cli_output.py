"""Tables and numbers as people read them."""

from __future__ import annotations

import pytest

from heronpy.cli.views.output import count, elapsed, table


def test_words_stand_left_and_numbers_right() -> None:
    assert table(("name", "in/s"), [("words", "-"), ("count", "20.4k"), ("x", "7")]).splitlines() == [
        "name    in/s",
        "words      -",
        "count  20.4k",
        "x          7",
    ]


def test_a_table_without_rows_is_its_headers() -> None:
    assert table(("name", "kind"), []) == "name  kind"


@pytest.mark.parametrize(
    ("number", "shown"),
    [(0, "0"), (999, "999"), (1000, "1.0k"), (20_400, "20.4k"), (999_999, "1.0M"), (2.5e9, "2.5G")],
)
def test_large_counts_are_shortened(number: float, shown: str) -> None:
    assert count(number) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(-1, "0s"), (59.9, "59s"), (61, "1m01s"), (7512, "2h05m"), (90_000, "1d01h")],
)
def test_times_have_two_units(seconds: float, shown: str) -> None:
    assert elapsed(seconds) == shown
