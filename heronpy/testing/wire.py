"""What takes the place of sockets and Stream Managers: a frame reaches its task in the moment it is sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from heronpy.kernel.flow.frame import ANCHORED, DATA, unseal

if TYPE_CHECKING:
    from heronpy.instances.task.build import Task


class Wire:
    """Carries the frames of all tasks of a run, and keeps account of them."""

    def __init__(self) -> None:
        #: task id → task
        self.tasks: dict[int, Task] = {}
        #: frames carried so far
        self.frames = 0
        #: task id → tuples brought to it
        self.brought: dict[int, int] = {}
        #: task id → most tuples that ever waited at it
        self.most_queued: dict[int, int] = {}
        #: set by a failure: all waits end
        self.stopping = False

    def carry(self, prefix: bytes, payload: bytes) -> None:
        read = unseal(prefix, payload)
        receiver = self.tasks[read.destination]
        self.frames += 1
        receiver.on_frame(prefix, payload)
        if read.kind in (DATA, ANCHORED):
            waiting = receiver.parts.counters.queued
            self.brought[read.destination] = self.brought.get(read.destination, 0) + read.tuples
            self.most_queued[read.destination] = max(waiting, self.most_queued.get(read.destination, 0))


class MemoryLink:
    """One task's end of the wire."""

    def __init__(self, wire: Wire, task: int, let_others_run: Callable[[int], None]) -> None:
        self._wire = wire
        self._task = task
        self._let_others_run = let_others_run
        self.send = wire.carry

    @property
    def stopping(self) -> bool:
        return self._wire.stopping

    def pump(self, timeout: float) -> None:
        """Nothing is ever on its way, so only one wait has a point: that for credit."""
        outbox = self._wire.tasks[self._task].parts.outbox
        if timeout > 0 and (outbox.held_up_by is not None or outbox.overfull):
            self._let_others_run(self._task)
