"""Effectively once, a spout's tuple is done with when a checkpoint that has it is complete."""

from __future__ import annotations

from collections import deque
from typing import Any

from heronpy.instances.acking.roots import Over


class Awaiting:
    """Ids of emitted tuples, by the checkpoint that each of them waits for."""

    def __init__(self) -> None:
        self._ids: list[Any] = []
        self._born: list[float] = []
        #: (checkpoint, ids, when each was emitted), oldest first
        self._cut: deque[tuple[int, list[Any], list[float]]] = deque()
        self._in_cuts = 0

    @property
    def pending(self) -> int:
        return self._in_cuts + len(self._ids)

    def note(self, tup_id: Any, now: float) -> None:
        self._ids.append(tup_id)
        self._born.append(now)

    def cut(self, checkpoint: int) -> None:
        """All that was emitted so far is before the barrier of this checkpoint."""
        self._cut.append((checkpoint, self._ids, self._born))
        self._in_cuts += len(self._ids)
        self._ids, self._born = [], []

    def complete(self, checkpoint: int, now: float) -> Over:
        """What is done with, now that this checkpoint is complete. It has all that earlier ones had."""
        over = Over([], [], now)
        while self._cut and self._cut[0][0] <= checkpoint:
            _, ids, born = self._cut.popleft()
            self._in_cuts -= len(ids)
            over.ids.extend(ids)
            over.born.extend(born)
        return over
