"""The transport of a task's frames: a socket in production, memory in the testing kit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

#: called with the two parts of each frame that comes in
FrameHandler = Callable[[bytes, bytes], None]


class Link(Protocol):
    """Carries frames to and from one task. Used by the task's own thread only."""

    @property
    def stopping(self) -> bool:
        """Whether the process has to stop."""

    def send(self, prefix: bytes, payload: bytes) -> None:
        """Never blocks and never drops; what cannot go now is kept, and credit bounds how much that is."""

    def pump(self, timeout: float) -> None:
        """Hand in all frames that have come; if there is none, wait up to `timeout` seconds for one."""


class TaskLink(Link, Protocol):
    """The link of whichever task is built in one place."""

    #: what takes the frames; `unheard` while no task is built
    handler: FrameHandler


def unheard(_prefix: bytes, _payload: bytes) -> None:
    """Drops a frame: it belongs to a run that is over, or is sent again."""


@runtime_checkable
class WatchfulLink(Protocol):
    """A link that can wait for something of the user's as well."""

    def watch(self, descriptor: int) -> bool:
        """The next pump() ends when this is readable, too. False if it is already, or is closed."""
