"""Runs containers on this machine, each in a session of its own that outlives the scheduler's process."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from typing_extensions import override

from heronpy.kernel.config import Config
from heronpy.kernel.errors import UserError
from heronpy.kernel.machine.wakeup import Wakeup
from heronpy.kernel.plans import PackingPlan
from heronpy.kernel.plugin import ContainerExit, Launcher, Scheduler
from heronpy.plugins.scheduler.local.container import LocalContainer, find, kill_group, start
from heronpy.plugins.scheduler.local.record import Records

#: bytes of memory that an instance takes before it does anything
IDLE_INSTANCE = 10 * 1024**2

#: on top of kill.timeout, which an executor gives to its own children
EXECUTOR_SECONDS = 2.0


class LocalScheduler(Scheduler):
    """`--scheduler local`."""

    @override
    def initialize(self, config: Config, launcher: Launcher) -> None:
        self._launcher = launcher
        self._patience = config.number("kill.timeout") + EXECUTOR_SECONDS
        self._logs = Path(launcher.container(0).log_folder)
        self._records = Records(self._logs.parent / "containers")
        self._running: dict[int, LocalContainer] = {}
        self._wakeup = Wakeup()

    @override
    def on_schedule(self, plan: PackingPlan) -> None:
        _refuse_too_many(len(plan.instances()))
        self._start([0, *(container.id for container in plan.containers)])

    @override
    def on_kill(self) -> None:
        self._adopt()
        self._end(list(self._running))
        # containers whose first process has died already: their groups may live on
        for record in list(self._records):
            kill_group(record)
            self._records.remove(record.container)

    @override
    def on_restart(self, containers: Sequence[int]) -> None:
        self._end(containers)
        self._start(containers)

    @override
    def on_update(self, current: PackingPlan, proposed: PackingPlan) -> None:
        come, go = current.changes(proposed)
        self._start(come)
        self._end(go)

    @override
    def watch(self, timeout: float) -> Iterator[ContainerExit]:
        ended = self._wait(self._running, timeout)
        self._wakeup.drain()
        for container in ended:
            status = self._running.pop(container).finish()
            yield ContainerExit(container, status)

    @override
    def wake(self) -> None:
        self._wakeup.wake()

    @override
    def adopt(self, plan: PackingPlan) -> Iterable[int]:
        self._adopt()
        return sorted(self._running)

    @override
    def links(self) -> Mapping[str, str]:
        return {"logs": str(self._logs)}

    @override
    def close(self) -> None:
        for container in self._running.values():
            container.release()
        self._running.clear()
        self._wakeup.close()

    def _adopt(self) -> None:
        for record in list(self._records):
            if record.container not in self._running and (found := find(record)) is not None:
                if found.record != record:
                    self._records.write(found.record)
                self._running[record.container] = found

    def _start(self, containers: Iterable[int]) -> None:
        for container in containers:
            if container not in self._running:
                self._forget(container)
                self._running[container] = start(self._launcher.container(container), self._records)

    def _end(self, containers: Sequence[int]) -> None:
        ending = {each: self._running[each] for each in containers if each in self._running}
        for running in ending.values():
            running.terminate()
        deadline = time.monotonic() + self._patience
        waiting = {each: running for each, running in ending.items() if not running.stopped}
        while waiting and (left := deadline - time.monotonic()) > 0:
            for ended in self._wait(waiting, left, wakeable=False):
                del waiting[ended]
        for each in containers:
            if each in ending:
                self._running.pop(each).finish()
            self._forget(each)

    def _forget(self, container: int) -> None:
        """Kill what a dead executor may have left, and drop its record."""
        for record in list(self._records):
            if record.container == container:
                kill_group(record)
                self._records.remove(container)

    def _wait(
        self, containers: Mapping[int, LocalContainer], timeout: float, *, wakeable: bool = True
    ) -> list[int]:
        """Ids of containers that have ended; waits at most `timeout` seconds for the first."""
        poll = select.poll()
        by_descriptor = {running.pidfd: each for each, running in containers.items()}
        for descriptor in by_descriptor:
            poll.register(descriptor, select.POLLIN)
        if wakeable:
            poll.register(self._wakeup, select.POLLIN)
        return [by_descriptor[ready] for ready, _ in poll.poll(timeout * 1000) if ready in by_descriptor]


def _refuse_too_many(instances: int) -> None:
    """Refuse what would make the machine swap until it does not respond."""
    most = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // IDLE_INSTANCE
    if instances > most:
        msg = f"{instances} instances are too many for one machine with memory for {most} idle ones"
        raise UserError(msg, hint="reduce the parallelism, or use another --scheduler")
