"""An engine whose topologies run on a YARN cluster, with their state tree in ZooKeeper."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import psutil
from support.clusters.on_cluster import OnCluster
from support.clusters.yarn_cluster import YarnCluster
from support.clusters.zookeeper import ZooKeeper
from typing_extensions import override

#: what is the same for every topology, and stays uploaded for the next
STAYS = (".jar", "-site.xml", "-secrets.py")

#: states of applications
ENDED = ("FINISHED", "FAILED", "KILLED")


class OnYarn(OnCluster):
    def __init__(self, home: Path, cluster: YarnCluster, servers: ZooKeeper) -> None:
        super().__init__(home, cluster, servers, cluster.settings())
        self.cluster = cluster

    @override
    def leftovers(self) -> list[str]:
        """Also what is uploaded, and not over for YARN."""
        uploaded = [str(path) for path in self.uploads() if not path.name.endswith(STAYS)]
        running = [each["id"] for each in self.cluster.applications() if each["state"] not in ENDED]
        return [*super().leftovers(), *uploaded, *running]

    @override
    def is_clusters_own(self, process: psutil.Process) -> bool:
        return "NodeManager" in " ".join(process.cmdline())

    @override
    def name_of(self, process: psutil.Process) -> str:
        """`host` is the ApplicationMaster."""
        try:
            words = process.cmdline()
            if "heronpy.container.remote.remote_start" in words:
                return "host" if "host" in words else f"container {words[-1]}"
            return process.name()
        except psutil.NoSuchProcess:
            return "gone"

    def last_application(self) -> dict[str, Any]:
        """What YARN says of the one that was submitted last."""
        return max(self.cluster.applications(), key=lambda each: int(each["startedTime"]))

    def exposed(self, secret: str) -> list[str]:
        """Uploads that hold it, and files on those machines that do and that others can read."""
        found = [path for path in self.uploads() if secret.encode() in path.read_bytes()]
        waiting = [self.cluster.folder(machine) for machine in self.cluster.machines]
        while waiting:
            path = waiting.pop()
            if path.is_symlink() or not path.stat().st_mode & 0o005:
                continue
            if path.is_dir():
                waiting += path.iterdir()
            elif secret.encode() in path.read_bytes():
                found.append(path)
        return [str(path) for path in found]

    def sweep(self) -> None:
        """Remove what the next topology would remove a day later: folders of those who were killed."""
        for folder in self.folders_of_containers():
            shutil.rmtree(folder, ignore_errors=True)

    def in_containers(self) -> set[int]:
        """Pids of all but the ApplicationMaster and its JVM."""
        processes = self.containers_processes()
        return {each.pid for each in processes if self.name_of(each) not in ("host", "java", "gone")}
