"""The tuple trees of a spout task: begins them, takes acks, finds timeouts."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from heronpy.instances.acking.ack_codec import Acks
from heronpy.instances.acking.anchored import Edges, pairs
from heronpy.instances.acking.edges import random_edges, xor_of
from heronpy.instances.acking.roots import Over, Roots


class Tracker:
    """Trees of one spout task; finished ones wait here until ack() or fail() can be called."""

    def __init__(self, roots: Roots, clock: Callable[[], float], max_pending: int) -> None:
        self.roots = roots
        self._clock = clock
        #: how many trees may be pending
        self.max_pending = max_pending
        self.acked: deque[Over] = deque()
        self.failed: deque[Over] = deque()

    def limit(self, timeout: float | None, max_pending: int) -> None:
        """From now on a tree may take so long, and so many may be pending."""
        self.roots.timeout, self.max_pending = timeout, max_pending

    @property
    def patience(self) -> float:
        """How often to look for what is late: a twentieth of the timeout."""
        return self.roots.timeout / 20 if self.roots.timeout is not None else 1.0

    @property
    def full(self) -> bool:
        """Whether as many trees are pending as the topology allows."""
        roots = self.roots  # asked after every call of next_tuple: one property of a property less
        return len(roots.ids) - roots.ended >= self.max_pending

    @property
    def pending(self) -> int:
        return self.roots.pending

    def stamp(self) -> None:
        """Note when the last tuples were emitted: before anything may wait, and at the end of every turn."""
        self.roots.stamp(self._clock())

    def plant(self, tup_id: Any, copies: int) -> Sequence[Edges]:
        """Begin a tree before any of its tuples leaves, so that no ack can come too early.

        Of a tuple emitted without an id nothing is tracked.
        """
        if tup_id is None:
            return [None] * copies
        if copies == 0:
            now = self._clock()
            self.acked.append(Over([tup_id], [now], now))  # it goes to no task
            return ()
        edges = random_edges(copies) if copies > 1 else []
        root = self.roots.add(tup_id, xor_of(edges)) if edges else self.roots.add(tup_id)
        self.stamp()
        return [(root, edge) for edge in edges] or (root,)

    def on_acks(self, acks: Acks) -> None:
        now = self._clock()
        self.acked.append(self.roots.ack_whole(acks.whole, now))
        self.acked.append(self.roots.ack(acks.roots, acks.values, now))
        self.failed.append(self.roots.fail(acks.failed, now))

    def settle(self, edges: Edges) -> None:
        """A copy was dropped because no task needs it: treat it as acked."""
        for root, edge in pairs(edges):
            self.acked.append(self.roots.ack([root], [edge], self._clock()))

    def expire(self) -> None:
        """Fail what has waited for longer than the message timeout."""
        self.failed.append(self.roots.expire(self._clock()))
