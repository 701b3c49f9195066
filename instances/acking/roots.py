"""The spout's side: one number per root, zero when the whole tree has been acked. Decides; does no I/O."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

#: a root is named by task, a few bits of its incarnation, and a count
_TASK_SHIFT: Final = 48
_TAG_SHIFT: Final = 36
_TAG_MASK: Final = (1 << (_TASK_SHIFT - _TAG_SHIFT)) - 1
_COUNT_MASK: Final = (1 << _TAG_SHIFT) - 1

MAX_TASK: Final = (1 << (64 - _TASK_SHIFT)) - 1


def task_of(root: int) -> int:
    """The spout task to which the acks of a root go."""
    return root >> _TASK_SHIFT


#: a root that is over: the id its spout gave it, and seconds since it was emitted
Outcome = tuple[Any, float]


class Roots:
    """The trees of one spout task, in the order in which they were emitted.

    Three lists with one entry per root, from the oldest that is not over: found by arithmetic, not hashing.
    """

    def __init__(self, task: int, incarnation: int, timeout: float | None) -> None:
        self._name = task << _TASK_SHIFT | (incarnation & _TAG_MASK) << _TAG_SHIFT
        self.timeout = timeout
        self._xors: list[int | None] = []  # None: over
        self._ids: list[Any] = []
        self._emitted_at: list[float] = []
        #: count of the root at index 0 of the lists
        self._base = 0
        #: index of the oldest root that is not over
        self._head = 0
        #: index of the root whose tuples are just being emitted
        self._open: int | None = None
        self.pending = 0

    def open(self, tup_id: Any, now: float) -> int:
        """Begin a tree; its tuples carry this root."""
        self._open = len(self._xors)
        self._xors.append(0)
        self._ids.append(tup_id)
        self._emitted_at.append(now)
        self.pending += 1
        return self._name | (self._base + self._open) & _COUNT_MASK

    def close(self, edges: int, now: float) -> Outcome | None:
        """All tuples of the open root are on their way; it may be over already, or have had no reader."""
        index, self._open = self._open, None
        if index is None or self._xors[index] is None:
            return None
        self._xors[index] ^= edges  # type: ignore[operator]
        return self._end(index, now) if self._xors[index] == 0 else None

    def ack(self, roots: Iterable[int], values: Iterable[int], now: float) -> list[Outcome]:
        """Apply what a bolt has acked; the roots that are over now."""
        over: list[Outcome] = []
        xors, name, base = self._xors, self._name, self._base
        size = len(xors)
        for root, value in zip(roots, values, strict=True):
            index = (root - name - base) & _COUNT_MASK
            if index >= size or root & ~_COUNT_MASK != name:
                continue  # over long ago, or of the task that was here before us
            xor = xors[index]
            if xor is None:
                continue
            xors[index] = xor = xor ^ value
            if xor == 0 and index != self._open:
                over.append(self._end(index, now))
        self._advance()
        return over

    def fail(self, roots: Iterable[int], now: float) -> list[Outcome]:
        """Roots that a bolt has failed."""
        over: list[Outcome] = []
        for root in roots:
            index = (root - self._name - self._base) & _COUNT_MASK
            ours = index < len(self._xors) and root & ~_COUNT_MASK == self._name
            if ours and self._xors[index] is not None:
                over.append(self._end(index, now))
        self._advance()
        return over

    def expire(self, now: float) -> list[Outcome]:
        """Roots whose time is up; they were emitted in order, so the oldest are in front."""
        over: list[Outcome] = []
        if self.timeout is None:
            return over
        latest = now - self.timeout
        self._advance()
        while self._head < len(self._xors) and self._emitted_at[self._head] <= latest:
            over.append(self._end(self._head, now))
            self._advance()
        return over

    def _end(self, index: int, now: float) -> Outcome:
        outcome = (self._ids[index], now - self._emitted_at[index])
        self._xors[index] = None
        self._ids[index] = None
        self.pending -= 1
        return outcome

    def _advance(self) -> None:
        """Leave behind what is over; the lists are cut now and then, not for every root."""
        head, xors, size = self._head, self._xors, len(self._xors)
        while head < size and xors[head] is None:
            head += 1
        self._head = head
        if head > 4096 and head * 2 > size and self._open is None:
            del self._xors[:head], self._ids[:head], self._emitted_at[:head]
            self._base += head
            self._head = 0
