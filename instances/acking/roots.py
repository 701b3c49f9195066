"""The spout's side: one number per root, zero when the whole tree has been acked. Decides; does no I/O."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from heronpy.kernel.plans.packing import LAST_TRACKED_TASK

#: a root is named by task, twelve bits made of its incarnation, and a count
_TASK_SHIFT: Final = 48
_TAG_SHIFT: Final = 36
#: A prime, so that all bits of an incarnation tell: the low ones alone count the starts of one executor's
#: children, and are the same again when it is restarted.
_TAGS: Final = 4093
_COUNT_MASK: Final = (1 << _TAG_SHIFT) - 1

#: instead of the XOR of a tree whose only edge is its root: the XOR is that root
_ONLY_ROOT: Final = -1


def task_of(root: int) -> int:
    """The spout task to which the acks of a root go."""
    return root >> _TASK_SHIFT


def is_root(number: int) -> bool:
    """Whether a spout may have given this name: tasks are counted from one."""
    return 1 << _TASK_SHIFT <= number < 1 << 64


def by_task(roots: Sequence[int]) -> Iterator[tuple[int, Sequence[int]]]:
    """Roots in order, none of them twice: those of each spout task, as a range if they follow one another.

    Numbers that are no roots are left out: a tuple that user code has made may have any id.
    """
    begin, stop = (bisect.bisect_left(roots, bound) for bound in (1 << _TASK_SHIFT, 1 << 64))
    while begin < stop:
        task = task_of(roots[begin])
        end = bisect.bisect_left(roots, (task + 1) << _TASK_SHIFT, begin)
        first, last = roots[begin], roots[end - 1]
        yield task, range(first, last + 1) if last - first == end - 1 - begin else roots[begin:end]
        begin = end


class Over(NamedTuple):
    """Roots that are over, all at one time."""

    ids: list[Any]
    #: when each of them was emitted
    born: list[float]
    at: float


class Roots:
    """The trees of one spout task, in the order in which they were emitted.

    Three lists with one entry per root, from the oldest that is not over: found by arithmetic, not hashing.
    They are never replaced, so that emit() may hold on to them. It only appends to `ids`; the other two are
    filled later.
    """

    def __init__(self, task: int, incarnation: int, timeout: float | None, count: int = 0) -> None:
        if not 0 <= task <= LAST_TRACKED_TASK:
            msg = f"task {task} cannot name its roots: ids of tracked spouts end at {LAST_TRACKED_TASK}"
            raise ValueError(msg)
        self._tag = task << _TASK_SHIFT - _TAG_SHIFT | incarnation % _TAGS
        self._name = self._tag << _TAG_SHIFT
        self.timeout = timeout
        every = range(self._name, self._name + _COUNT_MASK + 1)
        #: the names of the next roots: taking one requires adding that root to `ids`
        self.names: Iterator[int] = itertools.chain(
            every[count:], itertools.chain.from_iterable(itertools.repeat(every))
        )
        #: 0: over. This list and the next may lack what has been emitted since the last stamp().
        self.xors: list[int] = []
        self._born: list[float] = []
        self.ids: list[Any] = []
        #: count of the root at index 0 of the lists
        self._base = count
        #: index of the oldest root that is not over
        self._head = 0
        #: how many in the lists are over
        self.ended = 0

    @property
    def pending(self) -> int:
        return len(self.ids) - self.ended

    def add(self, tup_id: Any, xor: int = _ONLY_ROOT) -> int:
        """Begin a tree, given the XOR of the edges of all copies. Without it: the root is the only edge.

        That need not be random: all other edges of the tree are, so they do not cancel it out.
        """
        if len(self.xors) != len(self.ids):
            self._fill()
        root = next(self.names)
        self.xors.append(xor)
        self.ids.append(tup_id)
        return root

    def stamp(self, now: float) -> None:
        """Note the time of all that was emitted since the last stamp: many share one look at a clock."""
        if len(self.xors) != len(self.ids):
            self._fill()
        self._born.extend(itertools.repeat(now, len(self.ids) - len(self._born)))

    def _fill(self) -> None:
        self.xors.extend(itertools.repeat(_ONLY_ROOT, len(self.ids) - len(self.xors)))

    def ack_whole(self, roots: Sequence[int], now: float) -> Over:
        """Apply the acks of only copies of which nothing was made; the roots that are over now."""
        self.stamp(now)
        if not roots or roots[0] >> _TAG_SHIFT != self._tag or roots[-1] >> _TAG_SHIFT != self._tag:
            return self.ack(roots, roots, now)
        first = (roots[0] - self._name - self._base) & _COUNT_MASK
        last = first + len(roots)
        if not isinstance(roots, range) or self.xors[first:last].count(_ONLY_ROOT) != len(roots):
            return self.ack(roots, roots, now)
        over = Over(self.ids[first:last], self._born[first:last], now)
        self.xors[first:last] = [0] * len(roots)
        self.ids[first:last] = [None] * len(roots)
        self.ended += len(roots)
        if first == self._head:
            self._head = last
        self._advance()
        return over

    def ack(self, roots: Iterable[int], values: Iterable[int], now: float) -> Over:
        """Apply what a bolt has acked; the roots that are over now."""
        self.stamp(now)
        ended: list[int] = []
        xors, tag, size = self.xors, self._tag, len(self.xors)
        offset = self._name + self._base
        for root, value in zip(roots, values, strict=True):
            index = (root - offset) & _COUNT_MASK
            if index >= size or root >> _TAG_SHIFT != tag:
                continue  # over long ago, or of the task that was here before us
            xor = xors[index]
            if xor == _ONLY_ROOT:
                xor = root
            if xor == value:
                if xor:
                    xors[index] = 0
                    ended.append(index)
            elif xor:
                xors[index] = xor ^ value
        return self._end(ended, now)

    def fail(self, roots: Iterable[int], now: float) -> Over:
        """Roots that a bolt has failed."""
        self.stamp(now)
        ended: list[int] = []
        for root in roots:
            index = (root - self._name - self._base) & _COUNT_MASK
            if index < len(self.xors) and root >> _TAG_SHIFT == self._tag and self.xors[index]:
                self.xors[index] = 0
                ended.append(index)
        return self._end(ended, now)

    def expire(self, now: float) -> Over:
        """Roots whose time is up; they were emitted in order, so the oldest are in front."""
        self.stamp(now)
        ended: list[int] = []
        if self.timeout is not None:
            last = bisect.bisect_right(self._born, now - self.timeout, self._head)
            ended = [index for index in range(self._head, last) if self.xors[index]]
            self.xors[self._head : last] = [0] * (last - self._head)
        return self._end(ended, now)

    def _end(self, ended: Sequence[int], now: float) -> Over:
        """The roots at these indexes, whose XORs are 0 already."""
        ids, born = self.ids, self._born
        over = Over([ids[index] for index in ended], [born[index] for index in ended], now)
        for index in ended:
            ids[index] = None
        self.ended += len(ended)
        self._advance()
        return over

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
