"""A task in its process: every turn begins with what the control thread has received."""

from __future__ import annotations

from collections.abc import Callable

from heronpy.instances.control_events import EventInbox
from heronpy.instances.execution.turn import Turn
from heronpy.instances.process.control import Control
from heronpy.instances.task.build import Task
from heronpy.instances.task.switching import Switching


class AttendedTask:
    """Follows the notices of the Stream Manager, and reports the state of the task when it changes."""

    def __init__(
        self,
        task: Task,
        attention: EventInbox,
        switching: Switching,
        control: Control,
        entering: Callable[[], None],
    ) -> None:
        """`entering` is called before every turn, which may call the user's code."""
        self._task = task
        self._attention = attention
        self._switching = switching
        self._control = control
        self._entering = entering
        self._active: bool | None = None
        self._told = ""
        self.patience = task.patience

    def turn(self) -> Turn:
        self._attention.look()
        self._follow()
        self._entering()
        turn = self._task.turn()
        if self._task.end.reached:
            self._tell_end()
        return turn

    def _follow(self) -> None:
        control, task = self._control, self._task
        if control.active is not self._active:
            self._active = control.active
            task.loop.set_live(self._active)
        state = "ready" if self._switching.waits else "running" if self._active else "paused"
        if task.halted:
            state = "stopped"
        if state != self._told:
            self._told = state
            control.report(state, f"poison tuple {control.poison}" if task.halted else "")

    def _tell_end(self) -> None:
        """Reported at once when it changes: the topology may be finished by it."""
        control, level = self._control, self._task.end.level
        if level != control.progress.ending:
            control.progress.totals = self._task.parts.counters.totals()
            control.progress.ending = level
            control.tell()
