"""Passes what the control thread has received to the task's own thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from heronpy.instances.progress import Progress
from heronpy.kernel.checkpoints.node import Checkpoints
from heronpy.kernel.plans import PhysicalPlan
from heronpy.kernel.tree.update import Update


class Abandoned(BaseException):
    """Raised through user code when all tasks go back to a checkpoint: this task is rebuilt."""


class ControlEvents(Protocol):
    """The latest values that the process received. Levels, not steps: a late reader sees the newest."""

    #: raised after any of the others has changed
    news: int
    plan: PhysicalPlan | None
    active: bool
    checkpoints: Checkpoints | None
    update: Update | None
    next_plan: PhysicalPlan | None


class Reporter(Protocol):
    """The way of a task's progress to the Topology Master."""

    progress: Progress

    def tell(self) -> None:
        """Send a beat with the progress now."""


class Listener(Protocol):
    """A part of the task that reacts to changes."""

    def hear(self, news: ControlEvents) -> None:
        """Something has changed. Maybe inside emit(): no user code may be called; Abandoned may be raised."""

    def act(self) -> None:
        """Act between two calls of user code. Called every turn, so it must be cheap."""


class EventInbox:
    """Checks for changes for one task: once a turn, and while its emit() waits for credit."""

    def __init__(self, news: ControlEvents) -> None:
        self._news = news
        self._seen = -1
        self._acted = -1
        self.listeners: list[Listener] = []

    def look(self) -> None:
        """Between two calls of user code."""
        self.peek()
        self._acted = self._seen
        for listener in self.listeners:
            listener.act()

    @property
    def is_behind(self) -> bool:
        """Whether something has changed, or was heard inside emit(), on which no listener has acted."""
        return self._news.news != self._acted

    def peek(self) -> None:
        """Inside emit(), which waits."""
        # Read before the levels: a change in between is then seen at the next look.
        seen = self._news.news
        if seen != self._seen:
            self._seen = seen
            for listener in self.listeners:
                listener.hear(self._news)


def nothing_new() -> None:
    """For a task without a control thread, as in a test."""


#: called over and over while emit() waits
Meanwhile = Callable[[], None]
