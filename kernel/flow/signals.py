"""Signals: what travels between the batches of a channel and is no data.

Two classes, told apart by what they may overtake. A *cut* (barrier, marker) is sent at once and overtakes
rows that wait for credit: those rows are part of the snapshot that the barrier belongs to, or are routed
again by the plan that the marker announces. A *follower* (watermark, end of input) never overtakes a row that
was emitted before it on its channel, over all streams: the receiver acts as if all those rows had arrived.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from heronpy.kernel.errors import ProtocolError


class Barrier(NamedTuple):
    """All before it belongs to a checkpoint, nothing behind it does."""

    checkpoint: int


class Marker(NamedTuple):
    """All before it was routed by the plan in force; what follows is routed by the plan of this epoch."""

    epoch: int


class EndOfInput(NamedTuple):
    """Nothing follows: the emitter has sent all that it will ever send."""


class Watermark(NamedTuple):
    """No row with an earlier event time follows."""

    #: microseconds since 1970
    at: int
    #: whether the emitter has no input: its receivers do not wait for it until it says more
    idle: bool = False


Cut = Barrier | Marker
Follower = EndOfInput | Watermark
Signal = Cut | Follower

_LAYOUT: Final = struct.Struct("<BQ")
_BARRIER: Final = 1
_MARKER: Final = 2
_END_OF_INPUT: Final = 3
_WATERMARK: Final = 4
_IDLE_WATERMARK: Final = 5
#: event times have a sign
_SIGN: Final = 1 << 63


def encode_signal(signal: Signal) -> bytes:
    """The payload of a SIGNAL frame."""
    match signal:
        case Barrier(checkpoint):
            return _LAYOUT.pack(_BARRIER, checkpoint)
        case Marker(epoch):
            return _LAYOUT.pack(_MARKER, epoch)
        case EndOfInput():
            return _LAYOUT.pack(_END_OF_INPUT, 0)
        case Watermark(at, idle):
            return _LAYOUT.pack(_IDLE_WATERMARK if idle else _WATERMARK, at + _SIGN)


def decode_signal(payload: bytes) -> Signal:
    """ProtocolError for bytes that are no signal."""
    if len(payload) != _LAYOUT.size:
        msg = f"signal of {len(payload)} bytes instead of {_LAYOUT.size}"
        raise ProtocolError(msg)
    kind, number = _LAYOUT.unpack(payload)
    if kind == _BARRIER:
        return Barrier(number)
    if kind == _MARKER:
        return Marker(number)
    if kind == _END_OF_INPUT:
        return EndOfInput()
    if kind in (_WATERMARK, _IDLE_WATERMARK):
        return Watermark(number - _SIGN, kind == _IDLE_WATERMARK)
    msg = f"unknown signal {kind}"
    raise ProtocolError(msg)
