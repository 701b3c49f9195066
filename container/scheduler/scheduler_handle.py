"""The scheduler's process of a topology, and its keeper, seen from another process of the same machine."""

from __future__ import annotations

import contextlib
import logging
import os
import select
import signal
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Self

import msgspec

from heronpy.kernel.errors import DamagedNode
from heronpy.kernel.machine.processes import boot_id, process, processes
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.tree.paths import Tree
from heronpy.kernel.tree.registrations import read_version, reported

log = logging.getLogger(__name__)

MODULE = "heronpy.container.scheduler.scheduler_host"

#: how long it may take to end after its last action
END_SECONDS = 5.0


class SchedulerNode(msgspec.Struct, frozen=True):
    """Value of the ephemeral nodes /NAME/scheduler and /NAME/keeper."""

    pid: int
    host: str
    #: start time, see kernel.processes: with the pid it names one process
    started: int
    #: of its machine, see kernel.processes: several machines may have the same name
    boot: str
    links: dict[str, str] = {}

    @classmethod
    def of_this_process(cls, links: Mapping[str, str]) -> SchedulerNode:
        ours = process(os.getpid())
        assert ours is not None
        return cls(ours.pid, socket.gethostname(), ours.started, boot_id(), dict(links))


def links(state: StateManager, topology: str) -> dict[str, str]:
    """Web pages about the topology that its scheduler names; empty while it has no process."""
    node = reported(state, Tree(topology).scheduler, SchedulerNode)
    return node.links if node is not None else {}


class SchedulerProcess:
    """Held by a pidfd, so that its pid cannot be reused in the meantime."""

    def __init__(self, state: StateManager, path: str) -> None:
        #: whether some process, here or elsewhere, has this node
        self.present = False
        self._gone = False
        self._pid = 0
        self._pidfd: int | None = None
        try:
            found = read_version(state, path, SchedulerNode, any_format=True)
        except DamagedNode as damage:
            log.warning("%s", damage)
            self.present = True  # its process writes it again
            return
        self.present = found is not None
        if found is not None and found[0].boot == boot_id():
            self._open(found[0])

    def _open(self, node: SchedulerNode) -> None:
        try:
            self._pid, self._pidfd = node.pid, os.pidfd_open(node.pid)
        except ProcessLookupError:
            self._gone = True
            return
        seen = process(node.pid)
        if seen is None or seen.started != node.started or not seen.alive:
            self.close()
            self._gone = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def wait(self) -> None:
        """Until it has ended, but not long."""
        if self._pidfd is not None:
            select.select([self._pidfd], [], [], END_SECONDS)

    @property
    def here(self) -> bool:
        """Whether it runs on this machine."""
        return self._pidfd is not None

    @property
    def ended(self) -> bool:
        """Whether it was a process of this machine and is gone, so that its node is only left over."""
        if self._pidfd is None:
            return self._gone
        return bool(select.select([self._pidfd], [], [], 0)[0])

    @property
    def stopped(self) -> bool:
        """Whether it is stopped, so that it would not answer a request."""
        seen = process(self._pid) if self._pidfd is not None else None
        return seen is not None and seen.stopped

    def kill(self, why: str) -> None:
        """End it: it must start nothing while another process does its work."""
        if self._pidfd is not None:
            log.warning("the scheduler's process %s, killed", why)
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
            self.wait()

    def close(self) -> None:
        """Close the pidfd."""
        if self._pidfd is not None:
            os.close(self._pidfd)
            self._pidfd = None


def await_late_starts(file: Path) -> None:
    """Until no process of a topology that is gone runs here, but not long.

    One that was started shortly before has registered nowhere yet, and ends when it finds no topology.
    """
    deadline, file = time.monotonic() + END_SECONDS, file.resolve()
    for pid in [each.pid for each in processes() if _is_of(each.pid, file)]:
        try:
            pidfd = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            if _is_of(pid, file):
                select.select([pidfd], [], [], max(0.0, deadline - time.monotonic()))
        finally:
            os.close(pidfd)


def _is_of(pid: int, file: Path) -> bool:
    """Whether a process is `python -m heronpy.container.… FILE …`."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return False
    ours = any(word.startswith(b"heronpy.container.") for word in command)
    return ours and os.fsencode(file) in command
