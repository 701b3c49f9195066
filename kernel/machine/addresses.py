"""Where the sockets of a container are, and the identities of processes on them."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Final

_IDENTITY = struct.Struct("<cIQ")
_KINDS: Final = {b"p": "process", b"c": "container"}
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
#: … and of one that holds all tasks of its container
TASKS: Final = "tasks"


def manager_name(kind: str, container: int) -> str:
    """What a STREAM_MANAGER, METRICS_MANAGER or process of TASKS is called in its topology."""
    return f"{kind}-{container}"


def process_name(label: str, container: int, *, fused: bool) -> str:
    """What the process of a task is called, and its log: by the task, or by the container that shares it."""
    return manager_name(TASKS, container) if fused else label


def socket_path(folder: Path, name: str) -> str:
    return str(folder / name)


def process_identity(slot: int, incarnation: int) -> bytes:
    """An instance on its container's sockets, with all its tasks; a successor has another."""
    return _IDENTITY.pack(b"p", slot, incarnation)


def container_identity(container: int, incarnation: int) -> bytes:
    """A Stream Manager or Metrics Manager on the socket of another process."""
    return _IDENTITY.pack(b"c", container, incarnation)


def incarnation_of(identity: bytes) -> tuple[int, int]:
    """(slot or container, incarnation); ValueError for bytes that are not such an identity."""
    _, number, incarnation = _read(identity)
    return number, incarnation


def peer_name(identity: bytes) -> str:
    """A peer in a log line: "process 5 (incarnation 3)"; unknown ones by the first bytes of theirs."""
    try:
        kind, number, incarnation = _read(identity)
    except ValueError:
        return f"an unknown peer ({identity[:_NAMED].hex()}{'…' if len(identity) > _NAMED else ''})"
    return f"{_KINDS[kind]} {number} (incarnation {incarnation})"


def task_name(task: int, incarnation: int) -> str:
    """A task in a log line, with the incarnation of its process."""
    return f"task {task} (incarnation {incarnation})"


def _read(identity: bytes) -> tuple[bytes, int, int]:
    if len(identity) != _IDENTITY.size or identity[:1] not in _KINDS:
        msg = "not a heronpy identity"
        raise ValueError(msg)
    kind, number, incarnation = _IDENTITY.unpack(identity)
    return kind, number, incarnation
