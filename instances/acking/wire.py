"""Anchors and acks as packed integers."""

from __future__ import annotations

import itertools
import struct
from array import array
from collections.abc import Sequence
from typing import Final, NamedTuple, cast

from heronpy.instances.acking.anchored import Anchored, Edges
from heronpy.kernel.errors import ProtocolError

_HEAD = struct.Struct("<BI")
_ONE_EACH: Final = 1
_MANY: Final = 2
_ACK_HEAD = struct.Struct("<II")
_NOT_TRACKED: Final = (0, 0)


def encode_anchored(edges: Sequence[Edges], batch: bytes) -> bytes:
    """One payload out of what every tuple of a batch is anchored to, and the batch."""
    kinds = set(map(type, edges))
    if dict not in kinds:
        pairs = edges if kinds == {tuple} else [edge or _NOT_TRACKED for edge in edges]
        flat = itertools.chain.from_iterable(cast("Sequence[tuple[int, int]]", pairs))
        anchors = array("Q", flat).tobytes()
        return _HEAD.pack(_ONE_EACH, len(anchors)) + anchors + batch
    each = [list(_pairs(edge)) for edge in edges]
    counts = array("H", map(len, each))
    numbers = array("Q", (number for pairs in each for pair in pairs for number in pair))
    anchors = counts.tobytes() + numbers.tobytes()
    return _HEAD.pack(_MANY, len(anchors)) + anchors + batch


def _pairs(edges: Edges) -> Sequence[tuple[int, int]]:
    if edges is None:
        return ()
    return list(edges.items()) if isinstance(edges, dict) else [edges]


def decode_anchored(payload: bytes, tuples: int) -> tuple[list[Anchored | None], bytes]:
    """The ids of a batch's tuples, and the batch; ProtocolError for sizes that are not what is there."""
    if len(payload) < _HEAD.size:
        msg = f"anchored batch of {len(payload)} bytes"
        raise ProtocolError(msg)
    form, size = _HEAD.unpack_from(payload)
    anchors = payload[_HEAD.size : _HEAD.size + size]
    batch = payload[_HEAD.size + size :]
    if form == _ONE_EACH and len(anchors) == size == 16 * tuples:
        numbers = array("Q", anchors)
        roots = numbers[::2]
        ids: list[Anchored | None] = list(map(Anchored, zip(roots, numbers[1::2], strict=True)))
        if 0 in roots:
            ids = [tup_id if tup_id and tup_id[0] else None for tup_id in ids]
        return ids, batch
    if form == _MANY and len(anchors) == size >= 2 * tuples:
        return _decode_many(anchors, tuples), batch
    msg = f"anchors of form {form} and {size} bytes for {tuples} tuples"
    raise ProtocolError(msg)


def _decode_many(anchors: bytes, tuples: int) -> list[Anchored | None]:
    counts = array("H", anchors[: 2 * tuples])
    if len(anchors) != 2 * tuples + 16 * sum(counts):
        msg = f"{len(anchors)} bytes of anchors for {sum(counts)} edges of {tuples} tuples"
        raise ProtocolError(msg)
    numbers = array("Q", anchors[2 * tuples :])
    ids: list[Anchored | None] = []
    at = 0
    for count in counts:
        ids.append(Anchored(numbers[at : at + 2 * count]) if count else None)
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
        """ProtocolError when there are not as many as the head says."""
        if len(payload) < _ACK_HEAD.size:
            msg = f"acks of {len(payload)} bytes"
            raise ProtocolError(msg)
        acked, failed = _ACK_HEAD.unpack_from(payload)
        if len(payload) != _ACK_HEAD.size + 8 * (2 * acked + failed):
            msg = f"acks of {len(payload)} bytes for {acked} acked and {failed} failed"
            raise ProtocolError(msg)
        numbers = array("Q", payload[_ACK_HEAD.size :]).tolist()
        return cls(numbers[:acked], numbers[acked : 2 * acked], numbers[2 * acked :])
