"""Identities: who is who on a socket, and which start of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heronpy.kernel.addresses import container_identity, incarnation_of, task_identity

NUMBERS = st.integers(0, 2**32 - 1)
INCARNATIONS = st.integers(0, 2**64 - 1)


@given(NUMBERS, INCARNATIONS)
def test_an_identity_can_be_read(number: int, incarnation: int) -> None:
    assert incarnation_of(task_identity(number, incarnation)) == (number, incarnation)
    assert incarnation_of(container_identity(number, incarnation)) == (number, incarnation)
    assert task_identity(number, incarnation) != container_identity(number, incarnation)


def test_an_identity_is_one_that_zeromq_lets_us_choose() -> None:
    """Those that begin with a zero byte are its own."""
    assert not task_identity(0, 0).startswith(b"\0")
    assert len(container_identity(2**32 - 1, 2**64 - 1)) <= 255


@given(st.binary(max_size=40).filter(lambda data: len(data) != len(task_identity(1, 1))))
def test_other_bytes_are_no_identity(data: bytes) -> None:
    with pytest.raises(ValueError, match="not an identity of ours"):
        incarnation_of(data)
