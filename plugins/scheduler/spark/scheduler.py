"""Runs each container as a task of a Spark application, whose driver is the scheduler's process."""

from __future__ import annotations

import itertools
import logging
import os
import queue
import select
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from typing_extensions import override

from heronpy.kernel.config import Config
from heronpy.kernel.errors import UserError
from heronpy.kernel.machine.private import make_private
from heronpy.kernel.machine.wakeup import Wakeup
from heronpy.kernel.plans import PackingPlan
from heronpy.kernel.plugin import ContainerExit, Launch, Launcher, Scheduler
from heronpy.plugins.scheduler.spark import preflight
from heronpy.plugins.scheduler.spark.door import Door
from heronpy.plugins.scheduler.spark.settings import SparkSettings
from heronpy.plugins.scheduler.spark.task import End, Order

if TYPE_CHECKING:
    from heronpy.plugins.scheduler.spark.driver import Driver

log = logging.getLogger(__name__)

#: on top of kill.timeout, which an executor gives to its own children, and its task to it
EXECUTOR_SECONDS, TASK_SECONDS = 2.0, 8.0

#: how long a job may take to be over that was cancelled
CANCEL_SECONDS = 10.0

#: how long a container waits for a slot before that is reported
SLOT_SECONDS = 10.0


class _Start:
    """One start of a container: a job, from its submission to its end."""

    def __init__(self, number: int, container: int) -> None:
        self.number = number
        self.container = container
        self.submitted = time.monotonic()
        self.over = threading.Event()


class SparkScheduler(Scheduler):
    """`--scheduler spark`."""

    keeper = "beside"
    containers_outlive_host = False

    @classmethod
    @override
    def remote(cls, config: Config) -> bool:
        return not SparkSettings.of(config).local

    @classmethod
    @override
    def preflight(cls, config: Config, plan: PackingPlan) -> None:
        preflight.check(config, plan)

    @override
    def initialize(self, config: Config, launcher: Launcher) -> None:
        self._settings = SparkSettings.of(config)
        self._python = config.text("container.python")
        self._patience = config.number("kill.timeout") + EXECUTOR_SECONDS
        self._launcher = launcher
        #: both from the first start to the end: only a process that starts containers needs them
        self._driver: Driver | None = None
        self._door: Door | None = None
        self._had_executors = False
        self._numbers = itertools.count(1)
        self._running: dict[int, _Start] = {}
        self._ended: queue.SimpleQueue[tuple[_Start, End]] = queue.SimpleQueue()
        self._wakeup = Wakeup()

    @override
    def on_schedule(self, plan: PackingPlan) -> None:
        self._start([0, *(container.id for container in plan.containers)])

    @override
    def on_kill(self) -> None:
        self._end(list(self._running))
        self._stop()

    @override
    def on_restart(self, containers: Sequence[int]) -> None:
        self._end(containers)
        self._start(containers)

    @override
    def on_update(self, current: PackingPlan, proposed: PackingPlan) -> None:
        come, go = current.changes(proposed)
        self._refuse_without_slots(len(come))
        self._start(come)
        self._end(go)

    @override
    def watch(self, timeout: float) -> Iterator[ContainerExit]:
        self._wait(timeout)
        if self._driver is not None and (why := self._driver.lost or self._forgotten()):
            raise UserError(why, hint="wait: a new scheduler process starts every container again")
        while not self._ended.empty():
            start, end = self._ended.get()
            if self._running.get(start.container) is start:
                del self._running[start.container]
                yield ContainerExit(start.container, end.status, end.reason)

    @override
    def wake(self) -> None:
        self._wakeup.wake()

    @override
    def waiting(self) -> Mapping[int, str]:
        if self._driver is None or self._door is None:
            return {}
        inside = sum(self._door.let_in(each.number) for each in self._running.values())
        late = self._late()
        why = self._why(inside) if late else ""
        return dict.fromkeys(late, why) if why else {}

    @override
    def links(self) -> Mapping[str, str]:
        return {"spark ui": self._driver.ui} if self._driver is not None and self._driver.ui else {}

    @override
    def close(self) -> None:
        self.on_kill()
        self._wakeup.close()

    def _start(self, containers: Iterable[int]) -> None:
        for container in containers:
            if container not in self._running:
                self._running[container] = self._submit(self._launcher.container(container))

    def _submit(self, launch: Launch) -> _Start:
        driver, door = self._connected()
        start = _Start(next(self._numbers), launch.container)
        order = Order(
            hello=door.expect(start.number),
            door=door.address,
            argv=(*launch.argv, "--lifeline"),
            environment=self._settings.executor_environment() | dict(launch.environment),
            files={
                each.name: driver.ship(each.path or each.url) for each in launch.shipped if not each.secret
            },
            secrets={each.name: Path(each.path).read_bytes() for each in launch.shipped if each.secret},
            log="" if launch.shipped else _log_file(launch),
            patience=self._patience,
        )

        def on_end(end: End) -> None:
            door.withdraw(start.number)
            start.over.set()
            self._ended.put((start, end))
            self._wakeup.wake()

        driver.run(start.number, launch.container, order, launch.resources, on_end)
        return start

    def _connected(self) -> tuple[Driver, Door]:
        if self._driver is None or self._door is None:
            self._driver = self._open_driver()
            self._door = Door(self._settings.own_address(), self._settings.port)
        return self._driver, self._door

    def _open_driver(self) -> Driver:
        from heronpy.plugins.scheduler.spark.driver import Driver

        topology, work = self._launcher.topology, Path(self._launcher.container(0).log_folder).parent
        return Driver(self._settings, topology, self._python, work / "spark", on_loss=self._wakeup.wake)

    def _end(self, containers: Sequence[int]) -> None:
        """End them in order; one that has not ended in time is disconnected, and its successor fences it."""
        ending = [self._running.pop(each) for each in containers if each in self._running]
        if not ending or self._driver is None or self._door is None:
            return
        for start in ending:
            if not self._door.withdraw(start.number):
                # it waits for a slot, and would take it only to be refused
                self._driver.cancel(start.number)
        deadline = time.monotonic() + self._patience + TASK_SECONDS
        late = [each for each in ending if not each.over.wait(max(0.0, deadline - time.monotonic()))]
        for start in late:
            log.warning("container %d does not end: its job is cancelled", start.container)
            self._driver.cancel(start.number)
        for start in late:
            start.over.wait(CANCEL_SECONDS)

    def _stop(self) -> None:
        """The end of the application, and with it of every container that is left."""
        if self._door is not None:
            self._door.close()
        if self._driver is not None:
            self._driver.stop()
        self._door = self._driver = None
        self._running.clear()

    def _wait(self, timeout: float) -> None:
        if self._ended.empty():
            poll = select.poll()
            poll.register(self._wakeup, select.POLLIN)
            poll.poll(min(timeout, SLOT_SECONDS) * 1000)
        self._wakeup.drain()

    def _late(self) -> list[int]:
        """Containers that have been waiting for a slot for long."""
        assert self._door is not None
        due = time.monotonic() - SLOT_SECONDS
        late = [each for each in self._running.values() if each.submitted < due]
        return [each.container for each in late if not self._door.let_in(each.number)]

    def _forgotten(self) -> str:
        """A restarted Master does not know the application, ends its executors, and gives no others."""
        assert self._driver is not None
        if not self._settings.masters:
            return ""
        if self._driver.executors():
            self._had_executors = True
        elif self._had_executors and self._late():
            return "Spark's Master gives the application no executors any more"
        return ""

    def _why(self, running: int) -> str:
        """What containers wait for while so many run; empty if they are just starting."""
        assert self._driver is not None
        slots = self._driver.slots()
        if self._settings.dynamic or not slots:
            return "Spark has not started an executor for it yet"
        return f"Spark has no free slot for it, of {slots}" if slots <= running else ""

    def _refuse_without_slots(self, more: int) -> None:
        """Raise if there is no slot: Spark would let the containers wait without an error."""
        if not more or self._settings.dynamic or self._driver is None:
            return
        slots, taken = self._driver.slots(), len(self._running)
        if slots < taken + more:
            msg = f"Spark has {slots} slots, of which {taken} are taken: no room for {more} more"
            raise UserError(msg, hint="give Spark more Workers or cores, or use fewer containers")


def _log_file(launch: Launch) -> str:
    folder = Path(launch.log_folder)
    make_private(folder)
    path = folder / f"container-{launch.container}.log"
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    return str(path)
