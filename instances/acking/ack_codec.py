"""Anchors and acks as packed integers."""

from __future__ import annotations

import itertools
import struct
from array import array
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, TypeGuard, cast

from heronpy.instances.acking.anchored import (
    MOST_SHARED,
    Anchor,
    Anchored,
    AnchoredToMany,
    Edges,
    LeafId,
    Shared,
    TrackedId,
    divided,
    joined,
    runs,
    tracked,
)
from heronpy.instances.acking.edges import xor_of
from heronpy.kernel.errors import ProtocolError

_HEAD = struct.Struct("<BI")
_ONE_EACH: Final = 1
_MANY: Final = 2
_ONLY_COPIES: Final = 3
_RANGE: Final = 4
_SHARED: Final = 5
_ACK_HEAD = struct.Struct("<BIII")
_LISTED: Final = 1
_RANGED: Final = 2
_ROOT = struct.Struct("<Q")
_COUNT = struct.Struct("<I")
#: roots of each kind in one ACK, which so is below the smallest limit that a socket may have; and roots in a
#: range, of which eight bytes and a count could else make four billion
_MOST: Final = 1 << 14


def encode_anchored(edges: Sequence[Anchor], batch: bytes) -> bytes:
    """One payload out of what every tuple of a batch is anchored to, and the batch."""
    if _is_range(edges):
        return _HEAD.pack(_RANGE, _ROOT.size) + _ROOT.pack(edges[0]) + batch
    kinds = set(map(type, edges))
    if Shared in kinds:
        return _encode_shared(runs(edges), batch)
    return _encode_each(cast("Sequence[Edges]", edges), kinds, batch)


def _encode_each(edges: Sequence[Edges], kinds: set[type], batch: bytes) -> bytes:
    """Every tuple is anchored by itself."""
    if kinds == {int}:
        form, anchors = _ONLY_COPIES, array("Q", cast("Sequence[int]", edges)).tobytes()
    elif dict not in kinds:
        pairs = edges if kinds == {tuple} else map(_pair, edges)
        flat = itertools.chain.from_iterable(cast("Sequence[tuple[int, int]]", pairs))
        form, anchors = _ONE_EACH, array("Q", flat).tobytes()
    else:
        each = [list(_pairs(edge)) for edge in edges]
        counts = array("I", map(len, each))
        numbers = array("Q", (number for pairs in each for pair in pairs for number in pair))
        form, anchors = _MANY, counts.tobytes() + numbers.tobytes()
    return _HEAD.pack(form, len(anchors)) + anchors + batch


def _encode_shared(found: Sequence[tuple[Edges, int]], batch: bytes) -> bytes:
    """Tuples that follow one another are anchored together."""
    each = [_pairs(edges) for edges, _ in found]
    counts = array("I", (rows for _, rows in found))
    counts.extend(map(len, each))
    numbers = array("Q", (number for pairs in each for pair in pairs for number in pair))
    anchors = _COUNT.pack(len(found)) + counts.tobytes() + numbers.tobytes()
    return _HEAD.pack(_SHARED, len(anchors)) + anchors + batch


def _is_range(roots: Sequence[Anchor]) -> TypeGuard[Sequence[int]]:
    """Whether these are only copies whose roots follow one another: a spout with one reader plants such."""
    first, count = roots[0], len(roots)
    if isinstance(roots, range):
        return count <= _MOST
    if type(first) is not int or count > _MOST or roots[-1] != first + count - 1:
        return False
    return roots == list(range(first, first + count))


def _range(first: int, count: int) -> range:
    """ProtocolError for more than a range may have, or beyond 64 bits."""
    if count > _MOST or first + count > 1 << 64:
        msg = f"a range of {count} roots from {first:x} on"
        raise ProtocolError(msg)
    return range(first, first + count)


def _pair(edges: Edges) -> tuple[int, int]:
    if isinstance(edges, int):
        return edges, edges
    return cast("tuple[int, int] | None", edges) or (0, 0)


def _pairs(edges: Edges) -> Sequence[tuple[int, int]]:
    if edges is None:
        return ()
    return list(edges.items()) if isinstance(edges, dict) else [_pair(edges)]


def decode_anchored(payload: bytes, tuples: int) -> tuple[Iterable[TrackedId | None], bytes]:
    """The ids of a batch's tuples, and the batch; ProtocolError for sizes that are not what is there.

    Where tuples share an edge, ids are made when they are asked for: a few bytes may stand for any number.
    """
    form, anchors, batch = _parts(payload, tuples)
    if form in (_ONLY_COPIES, _RANGE):
        roots = list(_only_copies(form, anchors, tuples))
        return list(map(Anchored, roots, roots)), batch
    if form == _ONE_EACH:
        numbers = array("Q", anchors)
        ids = list(map(Anchored, numbers[::2], numbers[1::2]))
        return [tup_id if tup_id.root else None for tup_id in ids], batch
    if form == _SHARED:
        parts = (divided(edges, rows) for edges, rows in _decode_shared(anchors, tuples))
        return map(tracked, itertools.chain.from_iterable(parts)), batch
    return _decode_many(anchors, tuples), batch


def decode_leaves(payload: bytes, tuples: int) -> tuple[Iterable[LeafId | None], bytes]:
    """The same for a bolt from which no task reads: the id of an only copy is its root."""
    form, anchors, batch = _parts(payload, tuples)
    if form in (_ONLY_COPIES, _RANGE):
        return _only_copies(form, anchors, tuples), batch
    return decode_anchored(payload, tuples)


def decode_joined(payload: bytes, tuples: int) -> tuple[TrackedId | None, bytes]:
    """One id for all tuples of a batch, and the batch: who acks it acks them all."""
    form, anchors, batch = _parts(payload, tuples)
    if form == _RANGE:
        copies = list(_only_copies(form, anchors, tuples))
        return tracked(dict(zip(copies, copies, strict=True))), batch
    if form == _ONE_EACH:
        numbers = array("Q", anchors)
        roots = set(numbers[::2])
        if len(roots) == 1 and (root := roots.pop()):
            return Anchored(root, xor_of(numbers[1::2])), batch
    if form == _SHARED:
        return joined(tracked(edges) for edges, _ in _decode_shared(anchors, tuples)), batch
    ids, _ = decode_anchored(payload, tuples)
    return joined(ids), batch


def _parts(payload: bytes, tuples: int) -> tuple[int, bytes, bytes]:
    """The form of the anchors, the anchors, the batch."""
    if len(payload) < _HEAD.size:
        msg = f"anchored batch of {len(payload)} bytes"
        raise ProtocolError(msg)
    form, size = _HEAD.unpack_from(payload)
    anchors = payload[_HEAD.size : _HEAD.size + size]
    fits = {
        _ONLY_COPIES: size == 8 * tuples,
        _RANGE: size == _ROOT.size,
        _ONE_EACH: size == 16 * tuples,
        _MANY: size >= 4 * tuples,
        _SHARED: size >= _COUNT.size,
    }
    if len(anchors) != size or not fits.get(form):
        msg = f"anchors of form {form} and {size} bytes for {tuples} tuples"
        raise ProtocolError(msg)
    return form, anchors, payload[_HEAD.size + size :]


def _only_copies(form: int, anchors: bytes, tuples: int) -> Sequence[int]:
    roots = array("Q", anchors).tolist()
    return roots if form == _ONLY_COPIES else _range(roots[0], tuples)


def _decode_shared(anchors: bytes, tuples: int) -> list[tuple[Edges, int]]:
    """What tuples that follow one another are anchored to together, and how many they are."""
    (parts,) = _COUNT.unpack_from(anchors)
    begin = _COUNT.size + 8 * parts
    counts = array("I", anchors[_COUNT.size : begin] if len(anchors) >= begin else b"")
    rows, roots = counts[:parts], counts[parts:]
    bounded = all(count < 2 or count * many <= MOST_SHARED for count, many in zip(rows, roots, strict=True))
    if not bounded or 0 in rows or sum(rows) != tuples or len(anchors) != begin + 16 * sum(roots):
        msg = f"{len(anchors)} bytes of anchors for {sum(rows)} of {tuples} tuples, in {parts} parts"
        raise ProtocolError(msg)
    numbers = iter(array("Q", anchors[begin:]))
    pairs = zip(numbers, numbers, strict=True)
    edges = [dict(itertools.islice(pairs, count)) or None for count in roots]
    return list(zip(edges, rows, strict=True))


def _decode_many(anchors: bytes, tuples: int) -> list[TrackedId | None]:
    counts = array("I", anchors[: 4 * tuples])
    if len(anchors) != 4 * tuples + 16 * sum(counts):
        msg = f"{len(anchors)} bytes of anchors for {sum(counts)} edges of {tuples} tuples"
        raise ProtocolError(msg)
    numbers = iter(array("Q", anchors[4 * tuples :]))
    pairs = zip(numbers, numbers, strict=True)
    return [AnchoredToMany(dict(itertools.islice(pairs, count))) if count else None for count in counts]


class Acks(NamedTuple):
    """The acks and fails of one bolt task for one spout task."""

    #: roots whose only copy was acked, and nothing had been made of it: the value is the root again
    whole: Sequence[int]
    roots: list[int]
    #: of each of the roots, what was owed for it
    values: list[int]
    failed: list[int]

    def pieces(self) -> list[Acks]:
        """The same, each small enough for a frame: a bolt may ack a whole window of tuples in one go."""
        longest = max(map(len, self))
        if longest <= _MOST:
            return [self]
        slices = [slice(start, start + _MOST) for start in range(0, longest, _MOST)]
        return [Acks(self.whole[s], self.roots[s], self.values[s], self.failed[s]) for s in slices]

    def encode(self) -> bytes:
        ranged = bool(self.whole) and _is_range(self.whole)
        whole = self.whole[:1] if ranged else self.whole
        numbers = array("Q", [*whole, *self.roots, *self.values, *self.failed])
        form = _RANGED if ranged else _LISTED
        return _ACK_HEAD.pack(form, len(self.whole), len(self.roots), len(self.failed)) + numbers.tobytes()

    @classmethod
    def decode(cls, payload: bytes) -> Acks:
        """ProtocolError when there are not as many as the head says."""
        if len(payload) < _ACK_HEAD.size:
            msg = f"acks of {len(payload)} bytes"
            raise ProtocolError(msg)
        form, whole, acked, failed = _ACK_HEAD.unpack_from(payload)
        listed = {_LISTED: whole, _RANGED: 1}.get(form, -1)
        if listed < 0 or len(payload) != _ACK_HEAD.size + 8 * (listed + 2 * acked + failed):
            found = f"acks of form {form} and {len(payload)} bytes"
            msg = f"{found} for {whole} whole, {acked} acked and {failed} failed"
            raise ProtocolError(msg)
        numbers = iter(array("Q", payload[_ACK_HEAD.size :]).tolist())
        acks = cls(*(list(itertools.islice(numbers, count)) for count in (listed, acked, acked, failed)))
        return acks._replace(whole=_range(acks.whole[0], whole)) if form == _RANGED else acks
