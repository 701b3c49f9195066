"""Many tasks on one thread: the loop that never waits inside emit()."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

from heronpy.instances.execution.memory_links import MemoryLink, MemoryLinks
from heronpy.instances.execution.turn import Runnable, Turn

#: of the time that a task can wait; it is called so much earlier where the loop is awake for others …
_EARLY = 0.5
#: … but not a task that waits for less than this many seconds
_LONG = 0.05


class Member:
    """A task of the loop, and when it is to be called again if no frame comes before."""

    __slots__ = ("due", "early", "link", "task")

    def __init__(self, task: Runnable, link: MemoryLink) -> None:
        self.task = task
        self.link = link
        self.due = self.early = 0.0

    def rest(self, now: float, patience: float) -> None:
        """Nothing to do for so long. Idle tasks come to be called together: waking costs more than a call."""
        self.due = now + patience
        self.early = self.due - _EARLY * patience if patience >= _LONG else self.due

    def stir(self) -> None:
        """Call it in the next round."""
        self.due = self.early = 0.0


def in_order(members: Sequence[Member]) -> Iterable[Member]:
    """One after the other, as they were added."""
    return members


class ManyTasks:
    """Calls the tasks that have something to do, one turn each, and sleeps when none has.

    A task whose emit() may not wait overshoots by what one call emits and says BLOCKED until it is below its
    limits again; meanwhile the others go on, and so give it credit. Waiting inside emit() would not do: the
    receiver that has to give the credit may be on this very thread, and running it inside the emitter's call
    would nest user code in user code, as deep as the graph is.
    """

    def __init__(
        self,
        links: MemoryLinks,
        wait: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        order: Callable[[Sequence[Member]], Iterable[Member]] = in_order,
        share: float = 0.0,
    ) -> None:
        """`wait` is called after a round, with the seconds in which nothing is due; `order` before it."""
        self._links = links
        self._wait = wait
        self._clock = clock
        self._order = order
        #: seconds in which a task with more to do is called again: its turns may be shorter than others
        self._share = share
        self._members: dict[int, Member] = {}

    def add(self, number: int, task: Runnable, link: MemoryLink) -> None:
        """Call a task from now on; at most one at a time has a number."""
        self._members[number] = Member(task, link)

    def remove(self, number: int) -> None:
        """Call it no more."""
        del self._members[number]

    def wake(self, number: int) -> None:
        """There is something to do that did not come as a frame."""
        self._members[number].stir()

    def wake_all(self) -> None:
        """The same for all of them."""
        for member in self._members.values():
            member.stir()

    def run(self) -> None:
        while not self._links.stopping:
            self._wait(0.0 if self.round() else self.patience())

    def round(self) -> bool:
        """A turn for each task that has something to do; False if none had."""
        moved, now = False, self._clock()
        for member in self._order(tuple(self._members.values())):
            if member.link.arrived or member.link.stirred or member.early <= now:
                self._step(member)
                moved = True
            if self._links.stopping:
                break
        return moved

    def step(self, number: int) -> Turn:
        """The frames that have come for a task, then one turn."""
        return self._step(self._members[number])

    def patience(self) -> float:
        """Seconds until some task is due."""
        now = self._clock()
        return max(0.0, min((member.due for member in self._members.values()), default=now) - now)

    def _step(self, member: Member) -> Turn:
        until = self._clock() + self._share
        member.link.pump(0)
        turn = member.task.turn()
        while turn is Turn.MORE and self._clock() < until:
            turn = member.task.turn()
        if turn is Turn.MORE:
            member.stir()
        else:
            member.rest(self._clock(), member.task.patience())
        return turn
