"""Signals on the wire, and batches that are split."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heronpy.kernel.errors import ProtocolError
from heronpy.kernel.flow.batches import RowBatch
from heronpy.kernel.flow.frame import SIGNAL, unseal
from heronpy.kernel.flow.sender import Sender
from heronpy.kernel.flow.signals import (
    Barrier,
    EndOfInput,
    Marker,
    Signal,
    Watermark,
    decode_signal,
    encode_signal,
)

NUMBERS = st.integers(0, 2**64 - 1)
TIMES = st.integers(-(2**63), 2**63 - 1)
SIGNALS = (
    st.builds(Barrier, NUMBERS)
    | st.builds(Marker, NUMBERS)
    | st.builds(EndOfInput)
    | st.builds(Watermark, TIMES, st.booleans())
)


@given(SIGNALS)
def test_a_signal_comes_back_as_it_was(signal: Signal) -> None:
    again = decode_signal(encode_signal(signal))
    assert (type(again), again) == (type(signal), signal)


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        (b"abc", "signal of 3 bytes instead of 9"),
        (b"\x00" * 9, "unknown signal 0"),
        (b"\x06" + bytes(8), "unknown signal 6"),
    ],
)
def test_bytes_that_are_no_signal_are_refused(payload: bytes, why: str) -> None:
    with pytest.raises(ProtocolError, match=why):
        decode_signal(payload)


def test_a_signal_says_who_sends_it_by_which_plan_and_behind_what() -> None:
    prefix = unseal(*Sender(7, 3, epoch=5, run=2).signal(9, Marker(6), position=41))
    assert (prefix.kind, prefix.source, prefix.destination, prefix.tuples) == (SIGNAL, 7, 9, 0)
    assert (prefix.incarnation, prefix.epoch, prefix.run, prefix.position) == (3, 5, 2, 41)


@given(st.lists(st.none() | st.integers(0, 2)), st.booleans())
def test_the_pieces_of_a_batch_are_its_rows_in_order(owners: list[int | None], anchored: bool) -> None:
    rows = [(number,) for number in range(len(owners))]
    batch = RowBatch(rows, [number for (number,) in rows] if anchored else [])
    pieces = list(batch.pieces(owners))
    assert [row for _, piece in pieces for row in piece.rows] == rows
    assert [owner for owner, piece in pieces for _ in piece.rows] == owners
    assert all(before != after for (before, _), (after, _) in itertools.pairwise(pieces))
    for _, piece in pieces:
        assert piece.anchors == ([number for (number,) in piece.rows] if anchored else [])
