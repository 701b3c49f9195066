"""Anchors and acks as packed integers."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Sequence
from typing import Final, NamedTuple

from heronpy.instances.acking.anchored import Anchored
from heronpy.kernel.errors import ProtocolError

#: root → edge, or None for a tuple that nobody tracks
Edges = dict[int, int] | None

_HEAD = struct.Struct("<BI")
_ONE_EACH: Final = 1
_MANY: Final = 2
_ACK_HEAD = struct.Struct("<II")


def encode_anchored(edges: Sequence[Edges], batch: bytes) -> bytes:
    """One payload out of what every tuple of a batch is anchored to, and the batch."""
    if all(each is None or len(each) == 1 for each in edges):
        flat = array("Q")
        for each in edges:
            flat.extend(next(iter(each.items())) if each else (0, 0))
        anchors, form = flat.tobytes(), _ONE_EACH
    else:
        counts = array("H", (len(each or ()) for each in edges))
        pairs = array("Q", (number for each in edges for pair in (each or {}).items() for number in pair))
        anchors, form = counts.tobytes() + pairs.tobytes(), _MANY
    return _HEAD.pack(form, len(anchors)) + anchors + batch


def decode_anchored(payload: bytes, tuples: int) -> tuple[list[Anchored | None], bytes]:
    """The ids of a batch's tuples, and the batch."""
    form, size = _HEAD.unpack_from(payload)
    anchors = memoryview(payload)[_HEAD.size : _HEAD.size + size]
    batch = payload[_HEAD.size + size :]
    if form == _ONE_EACH and size == 16 * tuples:
        numbers = array("Q", anchors.tobytes())
        pairs = zip(numbers[::2], numbers[1::2], strict=True)
        return [Anchored(root, edge) if root else None for root, edge in pairs], batch
    if form == _MANY:
        return _decode_many(anchors, tuples), batch
    msg = f"anchors of form {form} and {size} bytes for {tuples} tuples"
    raise ProtocolError(msg)


def _decode_many(anchors: memoryview, tuples: int) -> list[Anchored | None]:
    counts = array("H", anchors[: 2 * tuples].tobytes())
    numbers = array("Q", anchors[2 * tuples :].tobytes())
    ids: list[Anchored | None] = []
    at = 0
    for count in counts:
        edges = dict(zip(numbers[at : at + 2 * count : 2], numbers[at + 1 : at + 2 * count : 2], strict=True))
        ids.append(Anchored.of_several(edges) if edges else None)
        at += 2 * count
    return ids


class Acks(NamedTuple):
    """What one bolt task tells one spout task."""

    roots: list[int]
    values: list[int]
    failed: list[int]

    def encode(self) -> bytes:
        numbers = array("Q", [*self.roots, *self.values, *self.failed])
        return _ACK_HEAD.pack(len(self.roots), len(self.failed)) + numbers.tobytes()

    @classmethod
    def decode(cls, payload: bytes) -> Acks:
        acked, failed = _ACK_HEAD.unpack_from(payload)
        if len(payload) != _ACK_HEAD.size + 8 * (2 * acked + failed):
            msg = f"acks of {len(payload)} bytes for {acked} acked and {failed} failed"
            raise ProtocolError(msg)
        numbers = array("Q", payload[_ACK_HEAD.size :]).tolist()
        return cls(numbers[:acked], numbers[acked : 2 * acked], numbers[2 * acked :])
