"""What a spout task does about its trees: emits with a root, hears of acks, finds what is late."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from random import getrandbits
from typing import Any

from heronpy.instances.acking.anchored import Edges
from heronpy.instances.acking.roots import Outcome, Roots
from heronpy.instances.acking.wire import Acks
from heronpy.instances.collector import Collector, ShortEmit


class Tracker:
    """Trees of one spout task; what is over waits here until the spout can be told."""

    def __init__(
        self, roots: Roots, collector: Collector, clock: Callable[[], float], max_pending: int
    ) -> None:
        self._roots = roots
        self._emit = collector.emit
        self.short_emit: ShortEmit | None = collector.short_way()
        self._clock = clock
        self._max_pending = max_pending
        self.acked: deque[Outcome] = deque()
        self.failed: deque[Outcome] = deque()

    @property
    def patience(self) -> float:
        """How often to look for what is late: a twentieth of the timeout."""
        return self._roots.timeout / 20 if self._roots.timeout is not None else 1.0

    @property
    def full(self) -> bool:
        """Whether as many trees are pending as the topology allows."""
        return self._roots.pending >= self._max_pending

    @property
    def pending(self) -> int:
        return self._roots.pending

    def emit(
        self, tup: Any, tup_id: Any, stream: str, direct_task: int | None, need_task_ids: bool
    ) -> list[int] | None:
        """Emit; a tuple with an id is the root of a tree."""
        if tup_id is None:
            return self._emit(tup, stream, direct_task, need_task_ids, _untracked)
        now = self._clock()
        root = self._roots.open(tup_id, now)
        if direct_task is None and not need_task_ids and self.short_emit is not None:
            xor = self.short_emit(tup, stream, root)
            if xor >= 0:
                self._close(xor, now)
                return None
        xor = 0

        def edges_of() -> Edges:
            nonlocal xor
            edge = getrandbits(64)
            xor ^= edge
            return root, edge

        try:
            tasks = self._emit(tup, stream, direct_task, need_task_ids, edges_of)
        except BaseException:
            self._roots.close(xor, now)  # refused: there is nothing to be told of
            raise
        self._close(xor, now)
        return tasks

    def _close(self, xor: int, now: float) -> None:
        outcome = self._roots.close(xor, now)
        if outcome is not None:
            self.acked.append(outcome)

    def on_acks(self, acks: Acks) -> None:
        now = self._clock()
        self.acked.extend(self._roots.ack(acks.roots, acks.values, now))
        self.failed.extend(self._roots.fail(acks.failed, now))

    def expire(self) -> None:
        """Fail what has waited for longer than the message timeout."""
        self.failed.extend(self._roots.expire(self._clock()))


def _untracked() -> Edges:
    return None
