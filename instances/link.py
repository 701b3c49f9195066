"""The transport of a task's frames: a socket in production, memory in the testing kit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

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
