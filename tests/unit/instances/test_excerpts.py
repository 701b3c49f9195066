"""Values in messages."""

from __future__ import annotations

from heronpy.instances.excerpts import LONGEST, shown


class Broken:
    def __repr__(self) -> str:
        raise OSError


def test_a_value_is_shown_and_a_long_one_cut() -> None:
    assert shown((1, "a")) == "(1, 'a')"
    assert shown("x" * 10_000) == "'" + "x" * (LONGEST - 1)


def test_a_repr_that_fails_does_not_hide_what_went_wrong() -> None:
    assert shown((1, Broken())) == "a tuple whose repr failed (OSError)"
