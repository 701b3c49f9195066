"""What every process of a topology gets at its start: the launch file, and arguments for a child."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path
from typing import Any, Literal

import msgspec

from heronpy.kernel.errors import OtherFormat, UserError
from heronpy.kernel.formats import LAUNCH, PROTOCOL, Head, check_protocol

Role = Literal["instance", "stream_manager", "metrics_manager", "topology_master"]
Keeper = Literal["master", "beside", "framework"]


class LaunchDamaged(UserError):
    """The launch file is there, and it is not what was written."""

    def __init__(self, path: str | os.PathLike[str], why: str) -> None:
        self.what = f"the launch file {os.fspath(path)} is damaged: {why}"
        without = "heronpy kill NAME --keep-checkpoints, which works without it"
        super().__init__(
            self.what, hint=f"{without}, then heronpy submit FILE, with --from NAME if it has checkpoints"
        )


class _Sealed(msgspec.Struct, frozen=True):
    """The form of the file; the checksum is there because a changed bit can leave valid JSON."""

    #: of the bytes of `launch` as they stand in the file
    sha256: str
    launch: msgspec.Raw


class TopologyLaunch(msgspec.Struct, frozen=True):
    """The launch file: where the topology's things are. Holds no secret."""

    topology: str
    #: random, so that no socket or lock of an earlier submit of the same name can be confused with ours
    execution: str
    #: the effective settings, as Config.to_plain() gave them
    config: dict[str, Any]
    #: folder of the topology on this machine: logs, metrics files, container records
    work: str
    #: short folder for ipc sockets (a socket path holds 107 bytes); empty where there are no containers here
    sockets: str
    #: whether containers are on machines where paths of the one that submitted mean nothing
    remote: bool = False
    #: folder with what was shipped here; empty on the machine that submitted
    package: str = ""
    #: which process restarts the scheduler process, see Scheduler.keeper
    keeper: Keeper = "master"
    #: version of the protocol between its processes
    protocol: int = PROTOCOL

    @property
    def logs(self) -> Path:
        return Path(self.work) / "logs"

    def container_sockets(self, container: int) -> Path:
        return Path(self.sockets) / str(container)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> TopologyLaunch:
        """FileNotFoundError when there is none, LaunchDamaged when it is not what was written.

        OtherFormat when another version wrote it, whose formats or protocol this one does not know.
        """
        try:
            data = Path(path).read_bytes()
            sealed = LAUNCH.decode(data, _Sealed, f"the launch file {os.fspath(path)}")
            if hashlib.sha256(sealed.launch).hexdigest() != sealed.sha256:
                raise LaunchDamaged(path, "its checksum differs")
            launch = msgspec.json.decode(sealed.launch, type=cls)
            check_protocol(launch.topology, launch.protocol, msgspec.json.decode(data, type=Head).heronpy)
            return launch
        except FileNotFoundError:
            raise
        except (OSError, msgspec.DecodeError) as error:
            raise LaunchDamaged(path, str(error)) from error

    @classmethod
    def read_or_exit(cls, path: str | os.PathLike[str]) -> TopologyLaunch:
        """For a process that cannot run without it: an unreadable file ends it with one line in its log."""
        try:
            return cls.read(path)
        except (LaunchDamaged, OtherFormat) as error:
            sys.exit(f"error: {error}")

    def to_json(self) -> bytes:
        """The content of the file. `parcel.bootstrap` writes the same form without this module."""
        text = msgspec.json.format(msgspec.json.encode(self), indent=2)
        sealed = _Sealed(hashlib.sha256(text).hexdigest(), msgspec.Raw(text))
        return LAUNCH.encode(sealed)


class Child(msgspec.Struct, frozen=True):
    """One process that an executor starts."""

    role: Role
    #: name of its log file and of its line in status: "count[1]", "stream-manager", …
    name: str
    container: int
    #: raised at every start; fences its predecessors
    incarnation: int
    #: its end of a socket to the executor, see kernel/liveness/lifeline.py
    lifeline: int
    #: which process of its container; 0 unless role is "instance"
    slot: int = 0
    #: the tasks that live in it; all have the incarnation of the process
    tasks: tuple[int, ...] = ()
    #: whether it can have no predecessor
    first: bool = False
