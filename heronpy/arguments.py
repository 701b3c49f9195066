"""Checks the arguments of untyped callers."""

from __future__ import annotations


def require(value: object, kinds: type | tuple[type, ...], must_be: str) -> None:
    """A TypeError that says what the value must be and what it is."""
    if not isinstance(value, kinds):
        msg = f"{must_be}, got {value!r}"
        raise TypeError(msg)
