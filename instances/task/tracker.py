"""The tuple trees of a spout task: emits roots, takes acks, finds timeouts."""

from __future__ import annotations

import functools
import operator
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from heronpy.instances.acking.ack_codec import Acks
from heronpy.instances.acking.anchored import Edges, pairs
from heronpy.instances.acking.edges import random_bits
from heronpy.instances.acking.roots import Over, Roots
from heronpy.instances.output.collector import Collector
from heronpy.instances.task.tracked_emit import SpoutEmit, short_emit


class Tracker:
    """Trees of one spout task; finished ones wait here until ack() or fail() can be called."""

    def __init__(
        self, roots: Roots, collector: Collector, clock: Callable[[], float], max_pending: int
    ) -> None:
        self._roots = roots
        self._emit = collector.emit
        self._clock = clock
        #: how many trees may be pending
        self.max_pending = max_pending
        self.acked: deque[Over] = deque()
        self.failed: deque[Over] = deque()
        #: emit() of the spout; a tuple with an id is the root of a tree
        self.emit: SpoutEmit = short_emit(
            collector.plain_ways(), roots, self._emit_long, self._plant, self.stamp
        )

    def limit(self, timeout: float | None, max_pending: int) -> None:
        """From now on a tree may take so long, and so many may be pending."""
        self._roots.timeout, self.max_pending = timeout, max_pending

    @property
    def patience(self) -> float:
        """How often to look for what is late: a twentieth of the timeout."""
        return self._roots.timeout / 20 if self._roots.timeout is not None else 1.0

    @property
    def full(self) -> bool:
        """Whether as many trees are pending as the topology allows."""
        return self._roots.pending >= self.max_pending

    @property
    def pending(self) -> int:
        return self._roots.pending

    def stamp(self) -> None:
        """Note when the last tuples were emitted: before anything may wait, and at the end of every turn."""
        self._roots.stamp(self._clock())

    def _emit_long(
        self,
        tup: Any,
        tup_id: Any = None,
        stream: str = "default",
        direct_task: int | None = None,
        need_task_ids: bool = False,
    ) -> list[int] | None:
        edges_of = _untracked if tup_id is None else functools.partial(self._plant, tup_id)
        return self._emit(tup, stream, direct_task, need_task_ids, edges_of)

    def _plant(self, tup_id: Any, copies: int) -> Sequence[Edges]:
        """Begin a tree before any of its tuples leaves, so that no ack can come too early."""
        if copies == 0:
            now = self._clock()
            self.acked.append(Over([tup_id], [now], now))  # it goes to no task
            return ()
        edges = [random_bits(64) for _ in range(copies)]
        xor = functools.reduce(operator.xor, edges) if copies > 1 else None
        root = self._roots.add(tup_id, xor)
        self.stamp()
        return (root,) if copies == 1 else [(root, edge) for edge in edges]

    def on_acks(self, acks: Acks) -> None:
        now = self._clock()
        self.acked.append(self._roots.ack_whole(acks.whole, now))
        self.acked.append(self._roots.ack(acks.roots, acks.values, now))
        self.failed.append(self._roots.fail(acks.failed, now))

    def settle(self, edges: Edges) -> None:
        """A copy was dropped because no task needs it: treat it as acked."""
        for root, edge in pairs(edges):
            self.acked.append(self._roots.ack([root], [edge], self._clock()))

    def expire(self) -> None:
        """Fail what has waited for longer than the message timeout."""
        self.failed.append(self._roots.expire(self._clock()))


def _untracked(copies: int) -> Sequence[Edges]:
    return [None] * copies
