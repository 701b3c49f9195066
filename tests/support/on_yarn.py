"""An engine whose topologies run on a YARN cluster, with their state tree in ZooKeeper."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import psutil
from support.engine import Engine
from support.yarn_cluster import YarnCluster
from support.zookeeper import ZooKeeper
from typing_extensions import override

#: what is the same for every topology, and stays uploaded for the next
STAYS = (".jar", "-site.xml", "-secrets.py")


#: states of applications
ENDED = ("FINISHED", "FAILED", "KILLED")


class OnYarn(Engine):
    """What a user sets once, here in the environment; every verb then works on the cluster."""

    patience = 200.0

    def __init__(self, home: Path, cluster: YarnCluster, servers: ZooKeeper) -> None:
        super().__init__(home)
        self.cluster = cluster
        self.servers = servers
        self._root = servers.fresh_root()
        settings = {
            **servers.settings(self._root),
            **cluster.settings(),
            "state.zookeeper.session": "4s",
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
        """Also what is on those machines, in ZooKeeper, uploaded, and not over for YARN."""
        cluster = self.cluster
        there = [str(path) for each in cluster.machines for path in cluster.folder(each).glob("heronpy-*")]
        uploaded = [str(path) for path in self.uploads() if not path.name.endswith(STAYS)]
        running = [each["id"] for each in cluster.applications() if each["state"] not in ENDED]
        return [*super().leftovers(), *there, *uploaded, *running, *self.servers.nodes(self._root)]

    def last_application(self) -> dict[str, Any]:
        """What YARN says of the one that was submitted last."""
        return max(self.cluster.applications(), key=lambda each: int(each["startedTime"]))

    def uploads(self) -> list[Path]:
        return list((self.home / "uploads").glob("[!.]*"))

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
        for machine in self.cluster.machines:
            for path in self.cluster.folder(machine).glob("heronpy-*"):
                shutil.rmtree(path)

    def containers_processes(self) -> list[psutil.Process]:
        disks = {str(self.cluster.folder(machine)) for machine in self.cluster.machines}
        found = []
        for process in psutil.process_iter():
            try:
                # they have it from the NodeManager, which has it, too
                ours = process.environ().get("TMPDIR") in disks
                if ours and "NodeManager" not in " ".join(process.cmdline()):
                    found.append(process)
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue
        return found

    def pids(self) -> dict[str, int]:
        """Who runs there; the first processes are `container K`, and `host` is the ApplicationMaster."""
        return {_name(process): process.pid for process in self.containers_processes()}

    def in_containers(self) -> set[int]:
        """Pids of all but the ApplicationMaster and its JVM."""
        processes = self.containers_processes()
        return {each.pid for each in processes if _name(each) not in ("host", "java", "gone")}

    def machine_of(self, who: str) -> str:
        """Where a container runs, or the ApplicationMaster."""
        disk = psutil.Process(self.pids()[who]).environ()["TMPDIR"]
        return next(each for each in self.cluster.machines if str(self.cluster.folder(each)) == disk)


def _name(process: psutil.Process) -> str:
    try:
        words = process.cmdline()
        if "heronpy.container.guest" in words:
            return "host" if "host" in words else f"container {words[-1]}"
        return process.name()
    except psutil.NoSuchProcess:
        return "gone"
