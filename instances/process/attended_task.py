"""A task in its process: every turn begins with what the control thread has received."""

from __future__ import annotations

from heronpy.instances.control_events import EventInbox
from heronpy.instances.execution.turn import Turn
from heronpy.instances.process.notices import Notices
from heronpy.instances.process.task_report import TaskReport
from heronpy.instances.task.build import Task
from heronpy.instances.task.switching import Switching


class AttendedTask:
    """Follows the notices of the Stream Manager, and reports the state of the task when it changes."""

    def __init__(
        self, task: Task, attention: EventInbox, switching: Switching, notices: Notices, report: TaskReport
    ) -> None:
        self._task = task
        self._attention = attention
        self._switching = switching
        self._notices = notices
        self._report = report
        component = task.parts.plan.logical.component(task.parts.context.get_component_id())
        self._call = "next_tuple" if component.kind == "spout" else "process"
        self._active: bool | None = None
        self._told = ""
        self.patience = task.patience

    def turn(self) -> Turn:
        self._attention.look()
        self._follow()
        self._report.enter(self._call)
        turn = self._task.turn()
        self._report.leave()
        if self._task.end.reached:
            self._report.reach_end(self._task.end.level)
        # What wakes a task may have been taken in during the turn.
        return Turn.MORE if self._attention.is_behind else turn

    def _follow(self) -> None:
        task, report = self._task, self._report
        if self._notices.active is not self._active:
            self._active = self._notices.active
            task.loop.set_live(self._active)
        state = "ready" if self._switching.waits else "running" if self._active else "paused"
        if task.halted:
            state = "stopped"
        if state != self._told:
            self._told = state
            report.become(state, f"poison tuple {report.poison}" if task.halted else "")
