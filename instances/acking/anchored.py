"""The bolt's side: what one received tuple owes to the trees it belongs to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import getrandbits
from typing import Protocol

#: what one copy of a tuple is anchored to: nothing, a root and its edge, or several of them
Edges = tuple[int, int] | dict[int, int] | None


class HasId(Protocol):
    """A received tuple."""

    @property
    def id(self) -> object: ...


class Anchored(list[int]):
    """The id of a tracked tuple: root, value, and so on for each further root; empty once acked or failed.

    A value is the tuple's own edge XOR those of all that was made from it. A list, since one is made for
    every tuple that arrives, and a list is made fastest.
    """

    __slots__ = ()
    __hash__ = object.__hash__  # type: ignore[assignment]  # an id may be a key, and stays the same one

    def __eq__(self, other: object) -> bool:
        return self is other

    def join(self, edge: int, into: dict[int, int]) -> None:
        """A tuple made from this one: its edge belongs to the same roots. After the ack it is too late."""
        for at in range(0, len(self), 2):
            self[at + 1] ^= edge
            into[self[at]] = into.get(self[at], 0) ^ edge

    def __repr__(self) -> str:
        return f"<tracked, roots {[f'{root:x}' for root in self[::2]]}>"


def only_anchor(anchors: Iterable[HasId] | None) -> Anchored | None:
    """The id of the one anchor of a tuple that belongs to one tree, which is what most are."""
    ids = [tup.id for tup in anchors or ()]
    if len(ids) == 1 and isinstance(ids[0], Anchored) and len(ids[0]) == 2:
        return ids[0]
    return None


def joining(anchors: Iterable[HasId]) -> Callable[[], Edges]:
    """Gives each copy of a new tuple its place in the trees of the tuples it was made from."""
    ids = [tup.id for tup in anchors if isinstance(tup.id, Anchored)]

    def edges_of() -> Edges:
        edges: dict[int, int] = {}
        for tup_id in ids:
            tup_id.join(getrandbits(64), edges)
        return edges or None

    return edges_of
