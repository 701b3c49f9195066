"""The bolt's side: what one received tuple owes to the trees it belongs to."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import msgspec

from heronpy.instances.acking.edges import random_edges, xor_of

#: what one copy of a tuple is anchored to: nothing; a root whose only copy it is, so that the root itself
#: serves as the edge; a root and an edge; or several of these
Edges = int | tuple[int, int] | dict[int, int] | None

#: what each of some tuples or batches is anchored to, given how many there are, with all their copies
EdgesOf = Callable[[int], Sequence[Edges]]


class Shared:
    """What consecutive rows of a batch are anchored to together: they leave in one frame, with one edge."""

    __slots__ = ("edges",)

    def __init__(self, edges: Edges) -> None:
        self.edges = edges


#: Edges of the rows that may share theirs, if each had its own. A receiver that takes the rows one by one
#: makes these, and must not make any number of them out of a few bytes.
MOST_SHARED = 1024

#: what a row is anchored to: by itself, or with its neighbours
Anchor = Edges | Shared


def shared(edges: Edges, rows: int) -> list[Anchor]:
    """What each row of a batch is anchored to: parts of these edges, each for as many rows as may share."""
    if rows < 2 or edges is None:
        return [edges] * rows
    together = max(1, MOST_SHARED // (len(edges) if isinstance(edges, dict) else 1))
    sizes = [min(together, rows - begin) for begin in range(0, rows, together)]
    found: list[Anchor] = []
    for part, size in zip(divided(edges, len(sizes)), sizes, strict=True):
        found += [Shared(part)] * size if size > 1 else [part]
    return found


def runs(anchors: Sequence[Anchor]) -> list[tuple[Edges, int]]:
    """What consecutive rows are anchored to, and how many they are: one unless they share it."""
    first = anchors[0] if anchors else None
    if isinstance(first, Shared) and first is anchors[-1]:
        return [(first.edges, len(anchors))]
    found: list[tuple[Edges, int]] = []
    for _, same in itertools.groupby(anchors, key=id):
        each = list(same)
        anchor = each[0]
        found += [(anchor.edges, len(each))] if isinstance(anchor, Shared) else [(anchor, 1)] * len(each)
    return found


def cut(anchors: list[Anchor], at: int) -> None:
    """Give rows that share an edge across this place, where they part, one on either side."""
    if not 0 < at < len(anchors):
        return
    both = anchors[at]
    if not isinstance(both, Shared) or anchors[at - 1] is not both:
        return
    # Those that share it are neighbours, at most so many.
    first, last = max(0, at - MOST_SHARED), min(len(anchors), at + MOST_SHARED)
    begin = bisect.bisect_left(range(first, at), True, key=lambda place: anchors[place] is both) + first
    end = bisect.bisect_left(range(at, last), True, key=lambda place: anchors[place] is not both) + at
    before, behind = divided(both.edges, 2)
    anchors[begin:end] = [*shared(before, at - begin), *shared(behind, end - at)]


def pairs(edges: Edges) -> list[tuple[int, int]]:
    """Roots and edges, one of each for every tree."""
    if edges is None:
        return []
    if isinstance(edges, dict):
        return list(edges.items())
    return [edges] if isinstance(edges, tuple) else [(edges, edges)]


def divided(edges: Edges, parts: int) -> list[Edges]:
    """What each part of a batch is anchored to, when the whole was anchored to this.

    Its edge is the XOR of theirs, so the tree is over when all parts are acked, with no message to the spout.
    """
    if edges is None or parts == 1:
        return [edges] * parts
    columns = {}
    for root, edge in pairs(edges):
        others = random_edges(parts - 1)
        columns[root] = [*others, edge ^ xor_of(others)]
    if len(columns) == 1:
        ((root, column),) = columns.items()
        return [(root, edge) for edge in column]
    return [dict(zip(columns, each, strict=True)) for each in zip(*columns.values(), strict=True)]


class HasId(Protocol):
    """A received tuple."""

    @property
    def id(self) -> object: ...


class Anchored(msgspec.Struct, gc=False, eq=False):
    """The id of a tuple that belongs to one tree, as most do. Its root is 0 once it is acked or failed.

    The value is the tuple's own edge XOR those of all that was made from it. A struct, since one is made for
    every tuple that arrives, and nothing of one's own is made faster.
    """

    root: int
    value: int

    def roots(self) -> Iterable[int]:
        """The trees it belongs to; none after the ack."""
        return (self.root,) if self.root else ()

    def join(self, root: int, xor: int) -> None:
        """Tuples were made from this one, and their edges, XORed, belong to this of its roots."""
        del root
        self.value ^= xor

    def settle(self) -> dict[int, int]:
        """Root → the value still to be acked; a second call returns nothing."""
        root, self.root = self.root, 0
        return {root: self.value} if root else {}

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuilt_id, (self.root, self.value)

    def __repr__(self) -> str:
        return f"<tracked, root {self.root:x}>"


class AnchoredToMany(msgspec.Struct, gc=False, eq=False):
    """The id of a tuple that belongs to several trees, or to one among tuples that belong to several."""

    values: dict[int, int]

    def roots(self) -> Iterable[int]:
        return self.values

    def join(self, root: int, xor: int) -> None:
        self.values[root] ^= xor

    def settle(self) -> dict[int, int]:
        values, self.values = self.values, {}
        return values

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuilt_id, (self.values,)

    def __repr__(self) -> str:
        return f"<tracked, roots {[f'{root:x}' for root in self.values]}>"


TrackedId = Anchored | AnchoredToMany

#: The same in a bolt from which no task reads. A tuple there is a leaf of its trees, so that an only copy
#: needs no more than its root; a second ack of it does no harm, since its tree is over by then.
LeafId = TrackedId | int


def tracked(edges: Edges) -> TrackedId | None:
    """The id of a tuple, or of a batch, that came with these."""
    found = pairs(edges)
    if len(found) == 1:
        return Anchored(*found[0])
    return AnchoredToMany(dict(found)) if found else None


def joined(ids: Iterable[TrackedId | None]) -> TrackedId | None:
    """The id of a batch that is made of tuples with these: who acks it acks them all."""
    owed: dict[int, int] = {}
    for tup_id in ids:
        for root, value in tup_id.settle().items() if tup_id is not None else ():
            owed[root] = owed.get(root, 0) ^ value
    return tracked(owed or None)


def rebuilt_id(*values: Any) -> TrackedId:
    """The id of a tuple that a window had when it was saved."""
    return AnchoredToMany(*values) if len(values) == 1 else Anchored(*values)


# a name that does not depend on where this module is, as for heronpy.tuple
rebuilt_id.__module__, rebuilt_id.__qualname__ = "heronpy", "saved_id"


def only_anchor(anchors: Iterable[HasId] | None) -> Anchored | None:
    """The id of the one anchor of a tuple that belongs to one tree, which is what most are."""
    ids = [tup.id for tup in anchors or ()]
    if len(ids) == 1 and isinstance(ids[0], Anchored) and ids[0].root:
        return ids[0]
    return None


def joining(anchors: Iterable[HasId]) -> EdgesOf:
    """Gives each copy of new tuples its place in the trees of the tuples they were made from.

    Of several anchors in one tree one is enough: the tree is over when all of them are acked.
    """
    holders = {root: tup.id for tup in anchors if isinstance(tup.id, TrackedId) for root in tup.id.roots()}

    def edges_of(copies: int) -> Sequence[Edges]:
        columns = []
        for root, holder in holders.items():
            edges = random_edges(copies)
            holder.join(root, xor_of(edges))
            columns.append(edges)
        if not columns:
            return [None] * copies
        if len(columns) == 1:
            return list(zip(itertools.repeat(next(iter(holders))), columns[0], strict=False))
        return [dict(zip(holders, each, strict=True)) for each in zip(*columns, strict=True)]

    return edges_of
