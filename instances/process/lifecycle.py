"""What lives in an instance process: one task, or all those that the plans give to its slot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heronpy.instances.execution.many_tasks import ManyTasks
from heronpy.instances.execution.one_task import OneTask
from heronpy.instances.process.control import Control
from heronpy.instances.process.forks import guard_forks
from heronpy.instances.process.fused_links import FusedLinks
from heronpy.instances.process.socket_link import SocketLink
from heronpy.instances.process.task_lifecycle import Surroundings, TaskLifecycle
from heronpy.instances.process.task_report import TaskReport
from heronpy.instances.process.tenancy import tenants
from heronpy.kernel.config import Config
from heronpy.kernel.errors import UserError

if TYPE_CHECKING:
    from heronpy.kernel.launch import Child, TopologyLaunch


#: seconds of a round that each task of a process gets, if it has as much to do
SHARE = 0.001


class ProcessOfOne:
    """A process for one task: Heron's isolation."""

    def __init__(self, launch: TopologyLaunch, child: Child, link: SocketLink, control: Control) -> None:
        around = Surroundings(launch, child, Config.from_plain(launch.config), control.notices)
        if len(child.tasks) != 1:
            msg = f"slot {child.slot} has {len(child.tasks)} tasks; a process runs one"
            raise UserError(msg, hint="--set topology.fuse=container, or packing without InstancePlan.slot")
        (report,) = control.reports.values()
        self._task = TaskLifecycle(around, report, link)
        self._link = link
        guard_forks(in_child=self._task.disown)

    def run(self) -> None:
        """Run until the process has to stop, or the user's code fails."""
        OneTask(self._task, self._link).run()
        self._task.close()


class ProcessOfMany:
    """A process for all tasks of its slot; they come and go with changes of plan, and the process stays."""

    def __init__(self, launch: TopologyLaunch, child: Child, link: SocketLink, control: Control) -> None:
        self._child = child
        self._control = control
        self._around = Surroundings(launch, child, Config.from_plain(launch.config), control.notices)
        self._links = FusedLinks(link)
        self._loop = ManyTasks(self._links, self._wait, share=SHARE)
        self._tasks: dict[int, TaskLifecycle] = {}
        self._heard = -1
        for report in control.reports.values():
            self._add(report)
        guard_forks(in_child=self._disown)

    def run(self) -> None:
        """Run until the process has to stop, or the user's code fails."""
        self._loop.run()
        for task in self._tasks.values():
            task.close()

    def _wait(self, seconds: float) -> None:
        self._links.wait(seconds)
        # Read before the levels: a change in between is then seen at the next look.
        heard = self._control.notices.news
        if heard != self._heard:
            self._heard = heard
            self._follow()
            self._loop.wake_all()

    def _follow(self) -> None:
        """Begin with the tasks that are new in the slot, and end with those that have left it."""
        wanted = tenants(self._control.notices, self._child.container, self._child.slot)
        if wanted is None:
            return
        for number in wanted - self._tasks.keys():
            self._add(self._control.adopt(number))
        for number in self._tasks.keys() - wanted:
            task = self._tasks.pop(number)
            self._loop.remove(number)
            task.close()
            self._links.close(number)
            self._control.disown(number)

    def _add(self, report: TaskReport) -> None:
        link = self._links.open(report.task)
        task = self._tasks[report.task] = TaskLifecycle(self._around, report, link, self._links)
        self._loop.add(report.task, task, link)

    def _disown(self) -> None:
        for task in self._tasks.values():
            task.disown()
