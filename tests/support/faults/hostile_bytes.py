"""Bytes that somebody made up, and what a decoder may do with them."""

from __future__ import annotations

import contextlib
import tracemalloc
from collections.abc import Callable

from hypothesis import strategies as st

from heronpy.kernel.errors import ProtocolError


@st.composite
def mutations(draw: st.DrawFn, originals: list[bytes]) -> bytes:
    """A good message with some bytes overwritten, cut off, doubled or put in."""
    data = bytearray(draw(st.sampled_from(originals)))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        noise = draw(st.sampled_from([b"\xff" * 4, b"\0" * 4, b"\x7f\xff\xff\xff"]) | st.binary(max_size=8))
        end = at + draw(st.sampled_from([0, len(noise), len(data)]))
        data[at:end] = noise
    return bytes(data)


def may_hold_a_pickle(data: bytes) -> bool:
    """Those are the user's own values, made by the topology's own code; random ones may do anything."""
    return any(byte in data for byte in (0xC7, 0xC8, 0xC9, 0xD4, 0xD5, 0xD6, 0xD7, 0xD8))


def judge(decode: Callable[[bytes], object], data: bytes) -> None:
    """Decode within a megabyte; ProtocolError is the only way to fail."""
    tracemalloc.start()
    try:
        with contextlib.suppress(ProtocolError):
            decode(data)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
