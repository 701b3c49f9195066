"""The spout's side: one number per root, zero when the whole tree has been acked. Decides; does no I/O."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from heronpy.kernel.plans.packing import LAST_TRACKED_TASK

#: a root is named by task, twelve bits made of its incarnation, and a count
_TASK_SHIFT: Final = 48
_TAG_SHIFT: Final = 36
#: A prime, so that all bits of an incarnation tell: the low ones alone count the starts of one executor's
#: children, and are the same again when it is restarted.
_TAGS: Final = 4093
_COUNT_MASK: Final = (1 << _TAG_SHIFT) - 1


def task_of(root: int) -> int:
    """The spout task to which the acks of a root go."""
    return root >> _TASK_SHIFT


class Over(NamedTuple):
    """Roots that are over, all at one time."""

    ids: list[Any]
    #: when each of them was emitted
    born: list[float]
    at: float


class Roots:
    """The trees of one spout task, in the order in which they were emitted.

    Three lists with one entry per root, from the oldest that is not over: found by arithmetic, not hashing.
    They are never replaced, so that emit() may hold on to them.
    """

    def __init__(self, task: int, incarnation: int, timeout: float | None, count: int = 0) -> None:
        if not 0 <= task <= LAST_TRACKED_TASK:
            msg = f"task {task} cannot name its roots: ids of tracked spouts end at {LAST_TRACKED_TASK}"
            raise ValueError(msg)
        self._name = task << _TASK_SHIFT | (incarnation % _TAGS) << _TAG_SHIFT
        self.timeout = timeout
        every = range(self._name, self._name + _COUNT_MASK + 1)
        #: the names of the next roots: taking one requires adding that root to `xors` and `ids`
        self.names: Iterator[int] = itertools.chain(
            every[count:], itertools.chain.from_iterable(itertools.repeat(every))
        )
        self.xors: list[int] = []  # 0: over
        self.ids: list[Any] = []
        #: shorter than the others by the roots that have been emitted since the last stamp()
        self._born: list[float] = []
        #: count of the root at index 0 of the lists
        self._base = count
        #: index of the oldest root that is not over
        self._head = 0
        #: how many in the lists are over
        self.ended = 0

    @property
    def pending(self) -> int:
        return len(self.ids) - self.ended

    def add(self, tup_id: Any, xor: int | None = None) -> int:
        """Begin a tree, given the XOR of the edges of all copies. Without it: the root is the only edge.

        That need not be random: all other edges of the tree are, so they do not cancel it out.
        """
        root = next(self.names)
        self.xors.append(root if xor is None else xor)
        self.ids.append(tup_id)
        return root

    def stamp(self, now: float) -> None:
        """Note the time of all that was emitted since the last stamp: many share one look at a clock."""
        self._born.extend(itertools.repeat(now, len(self.ids) - len(self._born)))

    def ack_whole(self, roots: list[int], now: float) -> Over:
        """Apply the acks of only copies of which nothing was made; the roots that are over now."""
        first = (roots[0] - self._name - self._base) & _COUNT_MASK if roots else 0
        last = first + len(roots)
        if self.xors[first:last] != roots:  # else they are neighbours, and all as they were emitted
            return self.ack(roots, roots, now)
        self.stamp(now)
        over = Over(self.ids[first:last], self._born[first:last], now)
        self.xors[first:last] = itertools.repeat(0, len(roots))
        self.ids[first:last] = itertools.repeat(None, len(roots))
        self.ended += len(roots)
        if first == self._head:
            self._head = last
        self._advance()
        return over

    def ack(self, roots: Iterable[int], values: Iterable[int], now: float) -> Over:
        """Apply what a bolt has acked; the roots that are over now."""
        self.stamp(now)
        over = Over([], [], now)
        xors, name, base, size = self.xors, self._name, self._base, len(self.xors)
        for root, value in zip(roots, values, strict=True):
            index = (root - name - base) & _COUNT_MASK
            if index >= size or root & ~_COUNT_MASK != name:
                continue  # over long ago, or of the task that was here before us
            xor = xors[index]
            if xor == value:
                if xor:
                    self._end(index, over)
            elif xor:
                xors[index] = xor ^ value
        self._advance()
        return over

    def fail(self, roots: Iterable[int], now: float) -> Over:
        """Roots that a bolt has failed."""
        self.stamp(now)
        over = Over([], [], now)
        for root in roots:
            index = (root - self._name - self._base) & _COUNT_MASK
            ours = index < len(self.xors) and root & ~_COUNT_MASK == self._name
            if ours and self.xors[index]:
                self._end(index, over)
        self._advance()
        return over

    def expire(self, now: float) -> Over:
        """Roots whose time is up; they were emitted in order, so the oldest are in front."""
        self.stamp(now)
        over = Over([], [], now)
        if self.timeout is None:
            return over
        latest = now - self.timeout
        self._advance()
        while self._head < len(self.xors) and self._born[self._head] <= latest:
            self._end(self._head, over)
            self._advance()
        return over

    def _end(self, index: int, over: Over) -> None:
        over.ids.append(self.ids[index])
        over.born.append(self._born[index])
        self.xors[index] = 0
        self.ids[index] = None
        self.ended += 1

    def _advance(self) -> None:
        """Leave behind what is over; the lists are cut now and then, not for every root."""
        head, xors, size = self._head, self.xors, len(self.xors)
        while head < size and not xors[head]:
            head += 1
        self._head = head
        if head > 4096 and head * 2 > size:
            del self.xors[:head], self.ids[:head], self._born[:head]
            self._base += head
            self.ended -= head
            self._head = 0
