"""An engine whose topologies run on the machines of a cluster, with their state tree in ZooKeeper."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import psutil
from support.clusters.zookeeper import ZooKeeper
from support.running.engine import Engine, tails
from typing_extensions import override


class Cluster(Protocol):
    """Machines with a folder each, which is TMPDIR for what runs there."""

    @property
    def machines(self) -> Sequence[str]: ...

    def folder(self, machine: str) -> Path: ...


class OnCluster(Engine, ABC):
    """What a user sets once, here in the environment; every verb then works on the cluster."""

    patience = 200.0
    #: whether the folders of containers lie anywhere below the folder of a machine
    deep = False

    def __init__(self, home: Path, cluster: Cluster, servers: ZooKeeper, settings: Mapping[str, str]) -> None:
        super().__init__(home)
        self._cluster = cluster
        self.servers = servers
        self._root = servers.fresh_root()
        shared = {
            **servers.settings(self._root),
            "state.zookeeper.session": "4s",
            "submit.timeout": "120s",
        }
        for key, value in {**shared, **settings}.items():
            self.environment[f"HERONPY_{key.upper().replace('.', '_')}"] = value

    @override
    def processes(self) -> list[psutil.Process]:
        """Also those of containers, on the machines of the cluster."""
        return [*super().processes(), *self.containers_processes()]

    @override
    def leftovers(self) -> list[str]:
        """Also what is on those machines, and in ZooKeeper."""
        there = map(str, self.folders_of_containers())
        return [*super().leftovers(), *there, *self.servers.nodes(self._root)]

    @override
    def log_tails(self) -> str:
        """Also of those on other machines."""
        there = [log for folder in self.folders_of_containers() for log in folder.glob("**/*.log")]
        there += [log for folder in self._folders() for log in folder.glob("logs/**/std*")]
        return f"{super().log_tails()}\n{tails(there)}"

    def folders_of_containers(self) -> list[Path]:
        found = []
        for folder in self._folders():
            # unlike a glob, it takes no offence at what vanishes meanwhile
            for place, folders, _ in os.walk(folder):
                found += [Path(place, each) for each in folders if each.startswith("heronpy-")]
                if not self.deep:
                    break
        return found

    def uploads(self) -> list[Path]:
        return list((self.home / "uploads").glob("[!.]*"))

    def containers_processes(self) -> list[psutil.Process]:
        disks = {str(folder) for folder in self._folders()}
        found = []
        for process in psutil.process_iter():
            try:
                # containers inherit it from the cluster's own process there, which has it, too
                ours = process.environ().get("TMPDIR") in disks
                if ours and not self.is_clusters_own(process):
                    found.append(process)
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue
        return found

    def _folders(self) -> list[Path]:
        return [self._cluster.folder(machine) for machine in self._cluster.machines]

    @abstractmethod
    def is_clusters_own(self, process: psutil.Process) -> bool:
        """Whether it is no part of any container."""

    def pids(self) -> dict[str, int]:
        """Who runs there, by name; the first process of each container is `container K`."""
        return {self.name_of(process): process.pid for process in self.containers_processes()}

    @abstractmethod
    def name_of(self, process: psutil.Process) -> str:
        """What pids() calls it."""

    def machine_of(self, who: str) -> str:
        """Where somebody in pids() runs."""
        disk = psutil.Process(self.pids()[who]).environ()["TMPDIR"]
        return next(each for each in self._cluster.machines if str(self._cluster.folder(each)) == disk)
