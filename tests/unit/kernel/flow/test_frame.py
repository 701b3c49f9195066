"""Frames: what goes in comes out, and nothing else is ever taken for a frame."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heronpy.kernel.errors import ProtocolError
from heronpy.kernel.flow.frame import DATA, KINDS, PREFIX_BYTES, Prefix, route, seal, unseal


def up_to(bits: int) -> st.SearchStrategy[int]:
    return st.integers(0, 2**bits - 1)


PREFIXES = st.builds(
    Prefix,
    kind=st.sampled_from(sorted(KINDS)),
    destination=up_to(32),
    source=up_to(32),
    stream=up_to(16),
    tuples=up_to(32),
    epoch=up_to(32),
    incarnation=up_to(64),
    run=up_to(32),
    position=up_to(64),
)
FRAME = Prefix(DATA, 7, 3, 1, 10, 2, 5, 0, 1000)


@given(PREFIXES, st.binary(max_size=200))
def test_a_frame_comes_out_as_it_went_in(prefix: Prefix, payload: bytes) -> None:
    sealed, carried = seal(prefix, payload)
    assert len(sealed) == PREFIX_BYTES
    assert carried is payload
    assert unseal(sealed, carried) == prefix
    assert route(sealed) == (prefix.destination, prefix.source)


def test_no_single_flipped_bit_gets_through() -> None:
    sealed, payload = seal(FRAME, b"twelve bytes")
    whole = sealed + payload
    for bit in range(len(whole) * 8):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(ProtocolError):
            unseal(bytes(damaged[:PREFIX_BYTES]), bytes(damaged[PREFIX_BYTES:]))


@given(st.binary(max_size=100).filter(lambda data: len(data) != PREFIX_BYTES))
def test_a_prefix_of_another_length_is_named(prefix: bytes) -> None:
    for read in (route, lambda data: unseal(data, b"")):
        with pytest.raises(ProtocolError, match=f"prefix of {len(prefix)} bytes instead of {PREFIX_BYTES}"):
            read(prefix)


@given(st.binary(min_size=PREFIX_BYTES, max_size=PREFIX_BYTES), st.binary(max_size=50))
def test_random_bytes_are_no_frame(prefix: bytes, payload: bytes) -> None:
    with pytest.raises(ProtocolError):
        unseal(prefix, payload)


@pytest.mark.parametrize(
    ("at", "value", "message"),
    [
        (0, 0xFF, r"not a heronpy frame \(magic 0x50ff\)"),
        (2, 9, "protocol version 9, this side speaks 2"),
        (3, 77, "unknown frame kind 77"),
    ],
)
def test_the_message_says_what_is_wrong_with_the_head(at: int, value: int, message: str) -> None:
    sealed, payload = seal(FRAME, b"")
    damaged = bytearray(sealed)
    damaged[at] = value
    with pytest.raises(ProtocolError, match=message):
        unseal(bytes(damaged), payload)
    with pytest.raises(ProtocolError, match=message):
        route(bytes(damaged))


def test_a_payload_that_was_cut_or_swapped_does_not_match() -> None:
    sealed, payload = seal(FRAME, b"twelve bytes")
    for other in (payload[:-1], payload + b"!", b"", b"other  bytes"):
        with pytest.raises(ProtocolError, match="checksum does not match"):
            unseal(sealed, other)


def test_what_does_not_fit_the_prefix_is_refused_before_it_is_sent() -> None:
    with pytest.raises(struct.error):
        seal(FRAME._replace(stream=2**16), b"")
