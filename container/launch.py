"""What every process of a topology is told at start: one file, and for a child of an executor a few words."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

import msgspec

Role = Literal["instance", "stream_manager", "metrics_manager", "topology_master"]
Keeper = Literal["master", "beside", "framework"]


class TopologyLaunch(msgspec.Struct, frozen=True):
    """The launch file: where the topology's things are. Holds no secret."""

    topology: str
    #: random, so that no socket or lock of an earlier submit of the same name can be confused with ours
    execution: str
    #: the effective settings, as Config.to_plain() gave them
    config: dict[str, Any]
    #: folder of the topology on this machine: logs, metrics files, container records
    work: str
    #: short folder for ipc sockets (a socket path holds 107 bytes)
    sockets: str
    #: whether containers are on machines where paths of the one that submitted mean nothing
    remote: bool = False
    #: folder with what was shipped here; empty on the machine that submitted
    package: str = ""
    #: who starts the scheduler's process again, see Scheduler.keeper
    keeper: Keeper = "master"

    @property
    def logs(self) -> Path:
        return Path(self.work) / "logs"

    def container_sockets(self, container: int) -> Path:
        return Path(self.sockets) / str(container)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> TopologyLaunch:
        return msgspec.json.decode(Path(path).read_bytes(), type=cls)


class Child(msgspec.Struct, frozen=True):
    """One process that an executor starts."""

    role: Role
    #: name of its log file and of its line in status: "count[1]", "stream-manager", …
    name: str
    container: int
    #: raised at every start; the fence against whoever had this place before
    incarnation: int
    #: its end of a socket to the executor, see kernel.lifeline
    lifeline: int
    #: 0 unless role is "instance"
    task: int = 0
    #: whether nobody can have had its place before
    first: bool = False
