"""Effectively once, a spout's tuple is done with when a checkpoint that has it is complete."""

from __future__ import annotations

import logging
import pickle
from collections import deque
from typing import Any, Final

from heronpy.instances.acking.roots import Over

log = logging.getLogger(__name__)

#: where among what a task leaves its ids lie
AWAITED: Final = "awaited"


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

    def hand_over(self) -> bytes:
        """The task retires: the ids that another task has to ack; empty if they cannot be pickled."""
        ids = [tup_id for _, cut, _ in self._cut for tup_id in cut] + self._ids
        try:
            return pickle.dumps(ids, pickle.HIGHEST_PROTOCOL) if ids else b""
        except Exception as error:  # of the user's own code
            log.warning("%d ids will not be acked, because they cannot be pickled: %r", len(ids), error)
            return b""

    def adopt(self, handed_over: bytes, now: float) -> None:
        """What a task that retired has emitted is done with at the next checkpoint, as is ours."""
        for tup_id in pickle.loads(handed_over):
            self.note(tup_id, now)

    def complete(self, checkpoint: int, now: float) -> Over:
        """What is done with, now that this checkpoint is complete. It has all that earlier ones had."""
        over = Over([], [], now)
        while self._cut and self._cut[0][0] <= checkpoint:
            _, ids, born = self._cut.popleft()
            self._in_cuts -= len(ids)
            over.ids.extend(ids)
            over.born.extend(born)
        return over
