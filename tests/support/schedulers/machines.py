"""A scheduler for tests: every container on a machine of its own, and one that is lost is out of reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from support.clusters.namespaces import on_machine
from typing_extensions import override

from heronpy import hookimpl
from heronpy.kernel.config import Config
from heronpy.kernel.launch import TopologyLaunch
from heronpy.kernel.plans import PackingPlan
from heronpy.kernel.plugin import Launch, Launcher, Scheduler
from heronpy.plugins.scheduler.local import LocalScheduler
from heronpy.plugins.scheduler.local.container import LocalContainer

#: machines share no folder for sockets
_OWN_SOCKETS = 'mount -t tmpfs -o mode=700 none "$0" && exec "$@"'


@hookimpl
def heron_schedulers() -> Mapping[str, type[Scheduler]]:
    return {"machines": MachinesScheduler}


class MachinesScheduler(LocalScheduler):
    """`--scheduler machines`; `plugins.machines.names` are network namespaces, container k on the k-th.

    Container 0 runs where the scheduler does. One that is restarted while it runs cannot be reached: it
    stays as it is, and its successor starts on the next free machine.
    """

    @override
    def initialize(self, config: Config, launcher: Launcher) -> None:
        self._free = config.plugin("machines")["names"].split(",")
        self._machines: dict[int, str] = {}
        self._lost: list[LocalContainer] = []
        super().initialize(config, _OnMachines(launcher, self._machines))

    @override
    def on_schedule(self, plan: PackingPlan) -> None:
        for container in plan.containers:
            self._machines[container.id] = self._free.pop(0)
        super().on_schedule(plan)

    @override
    def on_restart(self, containers: Sequence[int]) -> None:
        for container in containers:
            if container in self._running:
                self._lost.append(self._running.pop(container))
                self._records.remove(container)
                self._machines[container] = self._free.pop(0)
        super().on_restart(containers)

    @override
    def on_kill(self) -> None:
        while self._lost:
            self._lost.pop().finish()
        super().on_kill()


class _OnMachines(Launcher):
    def __init__(self, launcher: Launcher, machines: Mapping[int, str]) -> None:
        self.topology = launcher.topology
        self._launcher = launcher
        self._machines = machines

    @override
    def container(self, container_id: int) -> Launch:
        launch = self._launcher.container(container_id)
        machine = self._machines.get(container_id)
        if machine is None:
            return launch
        sockets = TopologyLaunch.read(launch.files[0]).sockets
        front = (*on_machine(machine), "unshare", "--mount", "sh", "-c", _OWN_SOCKETS, sockets)
        return msgspec.structs.replace(launch, argv=(*front, *launch.argv))


def install(folder: Path) -> str:
    """Make the scheduler known to whoever has the returned PYTHONPATH, as an installed package is."""
    about = folder / "heronpy_machines-0.1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: heronpy-machines\nVersion: 0.1.0\n")
    (about / "entry_points.txt").write_text("[heronpy]\nmachines = support.schedulers.machines\n")
    return f"{folder}:{Path(__file__).parent.parent.parent}"
