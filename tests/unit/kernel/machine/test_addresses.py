"""Identities: who is who on a socket, and which start of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heronpy.kernel.machine.addresses import container_identity, incarnation_of, peer_name, process_identity

NUMBERS = st.integers(0, 2**32 - 1)
INCARNATIONS = st.integers(0, 2**64 - 1)


@given(NUMBERS, INCARNATIONS)
def test_an_identity_can_be_read(number: int, incarnation: int) -> None:
    assert incarnation_of(process_identity(number, incarnation)) == (number, incarnation)
    assert incarnation_of(container_identity(number, incarnation)) == (number, incarnation)
    assert process_identity(number, incarnation) != container_identity(number, incarnation)


def test_an_identity_is_one_that_zeromq_lets_us_choose() -> None:
    """Those that begin with a zero byte are its own."""
    assert not process_identity(0, 0).startswith(b"\0")
    assert len(container_identity(2**32 - 1, 2**64 - 1)) <= 255


@given(st.binary(max_size=40).filter(lambda data: len(data) != len(process_identity(1, 1))))
def test_other_bytes_are_no_identity(data: bytes) -> None:
    with pytest.raises(ValueError, match="not a heronpy identity"):
        incarnation_of(data)


@given(st.binary(min_size=13, max_size=13).filter(lambda data: data[:1] not in (b"p", b"c")))
def test_bytes_of_the_right_length_are_not_enough(data: bytes) -> None:
    with pytest.raises(ValueError, match="not a heronpy identity"):
        incarnation_of(data)


def test_a_peer_is_named_as_people_know_it() -> None:
    assert peer_name(process_identity(5, 3)) == "process 5 (incarnation 3)"
    assert peer_name(container_identity(2, 1)) == "container 2 (incarnation 1)"
    assert peer_name(b"\0\xff") == "an unknown peer (00ff)"


@given(st.binary(max_size=300))
def test_whatever_a_stranger_calls_itself_its_name_is_short_and_printable(identity: bytes) -> None:
    name = peer_name(identity)
    assert name.isprintable()
    assert len(name) < 80
