"""Where a topology keeps its files on this machine."""

from __future__ import annotations

import os
import secrets
import tempfile
from pathlib import Path

from heronpy.container.launch import Keeper, TopologyLaunch
from heronpy.kernel.config import Config


def work_folder(config: Config, topology: str) -> Path:
    """Logs, metrics files, container records and the launch file."""
    return config.home / "topologies" / topology


def launch_file(config: Config, topology: str) -> Path:
    return work_folder(config, topology) / "launch.json"


def sockets_link(work: Path) -> Path:
    """Leads to the sockets folder where the launch file is damaged."""
    return work / "sockets"


def create_launch(config: Config, topology: str, *, remote: bool = False, keeper: Keeper = "master") -> Path:
    """Make the folders of a new topology and its launch file, whose path is returned.

    The file and the link are written before the sockets folder is made: a kill finds it by either.
    """
    work = work_folder(config, topology)
    for folder in (work.parent, work, work / "logs"):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    execution = secrets.token_hex(6)
    sockets = Path(_socket_root()) / f"heronpy-{os.getuid()}-{execution}"
    plain = config.to_plain()
    launch = TopologyLaunch(topology, execution, plain, str(work), str(sockets), remote, keeper=keeper)
    path = launch_file(config, topology)
    _write_whole(path, launch.to_json())
    if not remote:
        sockets_link(work).unlink(missing_ok=True)
        sockets_link(work).symlink_to(sockets)
        sockets.mkdir(mode=0o700)
    return path


def _write_whole(path: Path, data: bytes) -> None:
    """All of it or, on a full disk, nothing."""
    unfinished = path.with_suffix(".new")
    unfinished.touch(mode=0o600)
    try:
        unfinished.write_bytes(data)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _socket_root() -> str:
    """A short folder: the path of a socket holds 107 bytes, and a person's TMPDIR can be long."""
    chosen = tempfile.gettempdir()
    return chosen if len(chosen) <= 40 else "/tmp"
