"""The bolt's side: what one received tuple owes to the trees it belongs to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import getrandbits
from typing import Protocol


class HasId(Protocol):
    """A received tuple."""

    @property
    def id(self) -> object: ...


class Anchored:
    """The id of a tracked tuple: its roots, and its own edge XOR those of all that was made from it."""

    __slots__ = ("_others", "root", "value")

    def __init__(self, root: int, value: int) -> None:
        #: 0 once the tuple has been acked or failed
        self.root = root
        self.value = value
        #: further roots of a tuple that was made from tuples of several trees
        self._others: dict[int, int] | None = None

    @classmethod
    def of_several(cls, edges: dict[int, int]) -> Anchored:
        root, value = next(iter(edges.items()))
        made = cls(root, value)
        made._others = {other: edge for other, edge in edges.items() if other != root}
        return made

    def join(self, edge: int, into: dict[int, int]) -> None:
        """A tuple made from this one: its edge belongs to the same roots. After the ack it is too late."""
        if not self.root:
            return
        self.value ^= edge
        into[self.root] = into.get(self.root, 0) ^ edge
        if self._others:
            for root in self._others:
                self._others[root] ^= edge
                into[root] = into.get(root, 0) ^ edge

    def settle(self) -> list[tuple[int, int]]:
        """(root, value) to send, once: a second ack or a fail after it says nothing any more."""
        if not self.root:
            return []
        owed = [(self.root, self.value), *(self._others or {}).items()]
        self.root, self._others = 0, None
        return owed

    def __repr__(self) -> str:
        return f"<tracked, root {self.root:x}>"


def joining(anchors: Iterable[HasId]) -> Callable[[], dict[int, int] | None]:
    """Gives each copy of a new tuple its place in the trees of the tuples it was made from."""
    ids = [tup.id for tup in anchors if isinstance(tup.id, Anchored)]

    def edges_of() -> dict[int, int] | None:
        edges: dict[int, int] = {}
        for tup_id in ids:
            tup_id.join(getrandbits(64), edges)
        return edges or None

    return edges_of
