"""An engine whose topologies run on a Spark cluster, with their state tree in ZooKeeper."""

from __future__ import annotations

from pathlib import Path

import psutil
from support.engine import Engine
from support.spark_application import QUICK
from support.spark_cluster import SparkCluster
from support.zookeeper import ZooKeeper
from typing_extensions import override

#: four slots, two of them on each Worker: with three containers or more, both have some
SPREAD = ("spark.executor.cores=2", "spark.cores.max=4")


class OnSpark(Engine):
    """What a user sets once, here in the environment; every verb then works on the cluster."""

    patience = 200.0

    def __init__(self, home: Path, cluster: SparkCluster, servers: ZooKeeper) -> None:
        super().__init__(home)
        self.cluster = cluster
        self.servers = servers
        self._root = servers.fresh_root()
        settings = {
            **servers.settings(self._root),
            "state.zookeeper.session": "4s",
            "scheduler.name": "spark",
            "scheduler.spark.master": cluster.url,
            "scheduler.spark.conf": ",".join((*QUICK, *SPREAD)),
            "container.python": cluster.python,
            "submit.timeout": "120s",
        }
        for key, value in settings.items():
            self.environment[f"HERONPY_{key.upper().replace('.', '_')}"] = value

    @override
    def processes(self) -> list[psutil.Process]:
        """Also those of containers, on the machines of the cluster."""
        return [*super().processes(), *self.containers_processes()]

    @override
    def leftovers(self) -> list[str]:
        """Also what is on those machines, in ZooKeeper, and uploaded."""
        there = [
            str(path)
            for each in self.cluster.machines
            for path in self.cluster.folder(each).rglob("heronpy-*")
        ]
        uploads = [str(path) for path in (self.home / "uploads").glob("[!.]*")]
        return [*super().leftovers(), *there, *uploads, *self.servers.nodes(self._root)]

    def containers_processes(self) -> list[psutil.Process]:
        disks = {str(self.cluster.folder(machine)) for machine in self.cluster.machines}
        found = []
        for process in psutil.process_iter():
            try:
                # containers inherit it from the Worker; Spark's own processes below it are no part of them
                ours = process.environ().get("TMPDIR") in disks
                if ours and process.name() != "java" and "pyspark.daemon" not in process.cmdline():
                    found.append(process)
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue
        return found

    def pids(self) -> dict[str, int]:
        """Who runs in containers, without the nameless; the first process of each is `container K`."""
        named = {_name(process): process.pid for process in self.containers_processes()}
        return {name: pid for name, pid in named.items() if not name.startswith("python")}

    def pids_on(self, machine: str) -> set[int]:
        """Processes of all containers there."""
        disk = str(self.cluster.folder(machine))
        return {each.pid for each in self.containers_processes() if each.environ()["TMPDIR"] == disk}

    def machine_of(self, container: int) -> str:
        """Where a container runs."""
        disk = psutil.Process(self.pids()[f"container {container}"]).environ()["TMPDIR"]
        return next(each for each in self.cluster.machines if str(self.cluster.folder(each)) == disk)


def _name(process: psutil.Process) -> str:
    try:
        words = process.cmdline()
        return f"container {words[-2]}" if "heronpy.container.guest" in words else process.name()
    except psutil.NoSuchProcess:
        return "python"
