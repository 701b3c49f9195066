"""Where the sockets of a container are, and the identities of processes on them."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Final

_TASK = struct.Struct("<cIQ")
_KINDS: Final = {b"t": "task", b"c": "container"}
#: bytes of an unknown identity that are shown
_NAMED: Final = 16

HIGHEST_PORT: Final = 65535

#: socket names inside a container's folder
DATA_SOCKET: Final = "data"
CONTROL_SOCKET: Final = "control"
METRICS_SOCKET: Final = "metrics"
#: … and the one where the Topology Master answers the same user's commands
STATUS_SOCKET: Final = "status"

#: names of processes that are no task, in their metrics
STREAM_MANAGER: Final = "stream-manager"
METRICS_MANAGER: Final = "metrics-manager"


def manager_name(kind: str, container: int) -> str:
    """What a STREAM_MANAGER or METRICS_MANAGER is called among all processes of its topology."""
    return f"{kind}-{container}"


def socket_path(folder: Path, name: str) -> str:
    return str(folder / name)


def task_identity(task: int, incarnation: int) -> bytes:
    """An instance on its container's sockets; a successor has another."""
    return _TASK.pack(b"t", task, incarnation)


def container_identity(container: int, incarnation: int) -> bytes:
    """A Stream Manager or Metrics Manager on the socket of another process."""
    return _TASK.pack(b"c", container, incarnation)


def incarnation_of(identity: bytes) -> tuple[int, int]:
    """(task or container, incarnation); ValueError for bytes that are not such an identity."""
    _, number, incarnation = _read(identity)
    return number, incarnation


def peer_name(identity: bytes) -> str:
    """A peer in a log line: "task 5 (incarnation 3)"; unknown ones by the first bytes of their identity."""
    try:
        kind, number, incarnation = _read(identity)
    except ValueError:
        return f"an unknown peer ({identity[:_NAMED].hex()}{'…' if len(identity) > _NAMED else ''})"
    return f"{_KINDS[kind]} {number} (incarnation {incarnation})"


def task_name(task: int, incarnation: int) -> str:
    """A task in a log line, as peer_name() has it."""
    return peer_name(task_identity(task, incarnation))


def _read(identity: bytes) -> tuple[bytes, int, int]:
    if len(identity) != _TASK.size or identity[:1] not in _KINDS:
        msg = "not a heronpy identity"
        raise ValueError(msg)
    kind, number, incarnation = _TASK.unpack(identity)
    return kind, number, incarnation
