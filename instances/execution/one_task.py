"""A process for each task: the loop of one task, which may wait inside emit()."""

from __future__ import annotations

from heronpy.instances.execution.turn import Runnable, Turn
from heronpy.instances.link import Link


class OneTask:
    """Sleeps at the link of its task, between two turns or while the task waits inside emit()."""

    def __init__(self, task: Runnable, link: Link) -> None:
        self._task = task
        self._link = link

    def run(self) -> None:
        while not self._link.stopping:
            self.step()

    def step(self) -> Turn:
        """One turn; then the frames that have come, waiting for one if the task has nothing to do."""
        turn = self._task.turn()
        self._link.pump(0 if turn is Turn.MORE else self._task.patience())
        return turn
