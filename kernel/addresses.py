"""Where the sockets of a container are, and how a process calls itself on them."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Final

_TASK = struct.Struct("<cIQ")

#: socket names inside a container's folder
DATA_SOCKET: Final = "data"
CONTROL_SOCKET: Final = "control"
METRICS_SOCKET: Final = "metrics"


def socket_path(folder: Path, name: str) -> str:
    return str(folder / name)


def task_identity(task: int, incarnation: int) -> bytes:
    """An instance on its container's sockets; a successor has another."""
    return _TASK.pack(b"t", task, incarnation)


def container_identity(container: int, incarnation: int) -> bytes:
    """A Stream Manager or Metrics Manager on somebody else's socket."""
    return _TASK.pack(b"c", container, incarnation)


def incarnation_of(identity: bytes) -> tuple[int, int]:
    """(task or container, incarnation); ValueError for bytes that are no identity of ours."""
    try:
        _, number, incarnation = _TASK.unpack(identity)
    except struct.error as error:
        msg = "not an identity of ours"
        raise ValueError(msg) from error
    return number, incarnation
