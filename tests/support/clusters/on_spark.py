"""An engine whose topologies run on a Spark cluster, with their state tree in ZooKeeper."""

from __future__ import annotations

import contextlib
from pathlib import Path

import psutil
from support.clusters.on_cluster import OnCluster
from support.clusters.spark_application import quick
from support.clusters.spark_cluster import SparkCluster
from support.clusters.zookeeper import ZooKeeper
from typing_extensions import override

#: four slots, two of them on each Worker: with three containers or more, both have some
SPREAD = ("spark.executor.cores=2", "spark.cores.max=4")


class OnSpark(OnCluster):
    # Spark gives an application a folder of its own
    deep = True

    def __init__(self, home: Path, cluster: SparkCluster, servers: ZooKeeper) -> None:
        settings = {
            "scheduler.name": "spark",
            "scheduler.spark.master": cluster.url,
            "scheduler.spark.conf": ",".join((*quick(), cluster.executors, *SPREAD)),
            "container.python": cluster.python,
        }
        super().__init__(home, cluster, servers, settings)
        self.cluster = cluster

    @override
    def leftovers(self) -> list[str]:
        """Also what is uploaded."""
        return [*super().leftovers(), *map(str, self.uploads())]

    @override
    def is_clusters_own(self, process: psutil.Process) -> bool:
        return process.name() == "java" or "pyspark.daemon" in process.cmdline()

    @override
    def name_of(self, process: psutil.Process) -> str:
        try:
            words = process.cmdline()
            shipped = "heronpy.container.remote.remote_start" in words
            return f"container {words[-2]}" if shipped else process.name()
        except psutil.NoSuchProcess:
            return "python"

    @override
    def pids(self) -> dict[str, int]:
        """Without the nameless."""
        return {name: pid for name, pid in super().pids().items() if not name.startswith("python")}

    def pids_on(self, machine: str) -> set[int]:
        """Processes of all containers there."""
        disk, found = str(self.cluster.folder(machine)), set()
        for each in self.containers_processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                if each.environ()["TMPDIR"] == disk:
                    found.add(each.pid)
        return found
