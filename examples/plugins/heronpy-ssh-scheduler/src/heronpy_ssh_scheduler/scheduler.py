"""Starts containers on other machines over ssh."""

from __future__ import annotations

import os
import select
import shlex
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence

from heronpy import Config, ContainerExit, Launcher, PackingPlan, Scheduler, UserError
from heronpy_ssh_scheduler.container import SshContainer
from heronpy_ssh_scheduler.machine import Machine

#: a container gives its processes kill.timeout, and needs a moment itself
MOMENT = 2.0


class SshScheduler(Scheduler):
    """`--scheduler ssh`; settings are the table [plugins.ssh], see the README."""

    #: their lifelines close with the process that holds them
    containers_outlive_host = False

    @classmethod
    def remote(cls, config: Config) -> bool:
        return True

    @classmethod
    def preflight(cls, config: Config, plan: PackingPlan) -> None:
        for machine in _machines(config):
            machine.run("true")

    def initialize(self, config: Config, launcher: Launcher) -> None:
        settings = config.plugin("ssh")
        self._python = str(settings.get("python", "python3"))
        self._folder = f"{settings.get('folder', '.heronpy-ssh')}/{launcher.topology}"
        self._patience = config.number("kill.timeout") + MOMENT
        self._launcher = launcher
        self._machines = _machines(config)
        #: also those that have ended by themselves, until what they left is cleared
        self._containers: dict[int, SshContainer] = {}
        self._reported: set[int] = set()
        self._wakeup = os.eventfd(0)

    def on_schedule(self, plan: PackingPlan) -> None:
        self._start([0, *(container.id for container in plan.containers)])

    def on_kill(self) -> None:
        self._end(list(self._containers))
        for machine in self._machines:  # an earlier process may have left files there
            machine.run(f"rm -rf {shlex.quote(self._folder)}")

    def on_restart(self, containers: Sequence[int]) -> None:
        self._end(containers)
        self._start(containers)

    def on_update(self, current: PackingPlan, proposed: PackingPlan) -> None:
        come, go = current.changes(proposed)
        self._start(come)
        self._end(go)

    def watch(self, timeout: float) -> Iterator[ContainerExit]:
        running = {each.pid for each in self._containers.values() if each.id not in self._reported}
        handles = [os.pidfd_open(pid) for pid in running]
        try:
            select.select([*handles, self._wakeup], [], [], timeout)
        finally:
            for handle in handles:
                os.close(handle)
        if select.select([self._wakeup], [], [], 0)[0]:
            os.eventfd_read(self._wakeup)
        ended = [each.exit() for each in self._containers.values() if each.id not in self._reported]
        for one in ended:
            if one is not None:
                self._reported.add(one.container)
                yield one

    def wake(self) -> None:
        os.eventfd_write(self._wakeup, 1)

    def links(self) -> Mapping[str, str]:
        return {"machines": ", ".join(machine.name for machine in self._machines)}

    def close(self) -> None:
        self._end(list(self._containers))
        os.close(self._wakeup)

    def _start(self, containers: Iterable[int]) -> None:
        for container in containers:
            machine = self._machines[container % len(self._machines)]
            launch = self._launcher.container(container)
            folder = f"{self._folder}/{container}"
            self._containers[container] = SshContainer(launch, machine, folder, self._python)

    def _end(self, containers: Sequence[int]) -> None:
        ending = [self._containers[container] for container in containers if container in self._containers]
        for each in ending:
            each.hang_up()
        deadline = time.monotonic() + self._patience
        for each in ending:
            each.clear(deadline - time.monotonic())
            del self._containers[each.id]
            self._reported.discard(each.id)


def _machines(config: Config) -> list[Machine]:
    settings = config.plugin("ssh")
    names = [name.strip() for name in str(settings.get("machines", "")).split(",") if name.strip()]
    if not names:
        msg = "the scheduler 'ssh' does not know any machine"
        raise UserError(msg, hint="--set plugins.ssh.machines=one,another")
    ssh = shlex.split(str(settings.get("command", "ssh -o BatchMode=yes")))
    return [Machine(name, ssh) for name in names]
