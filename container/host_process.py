"""The scheduler's process of a topology, seen from another process of the same machine."""

from __future__ import annotations

import contextlib
import logging
import os
import select
import signal
import socket
from pathlib import Path
from typing import Self

import msgspec

from heronpy.kernel.errors import NodeMissing
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.tree import Tree

log = logging.getLogger(__name__)

MODULE = "heronpy.container.scheduler_host"

#: how long it may take to end after its last act
END_SECONDS = 5.0


class HostNode(msgspec.Struct, frozen=True):
    """Value of the ephemeral node /NAME/scheduler."""

    pid: int
    host: str
    links: dict[str, str] = {}


class HostProcess:
    """Held by a pidfd, so that its pid cannot change hands meanwhile."""

    def __init__(self, state: StateManager, topology: str) -> None:
        #: whether some process, here or elsewhere, has the topology's scheduler node
        self.present = False
        self._pidfd: int | None = None
        with contextlib.suppress(NodeMissing, ProcessLookupError, FileNotFoundError):
            node = msgspec.json.decode(state.get(Tree(topology).scheduler).value, type=HostNode)
            self.present = True
            if node.host == socket.gethostname():
                self._pidfd = os.pidfd_open(node.pid)
                if MODULE.encode() not in Path(f"/proc/{node.pid}/cmdline").read_bytes():
                    self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._release()

    def wait(self) -> None:
        """Until it has ended, but not long."""
        if self._pidfd is not None:
            select.select([self._pidfd], [], [], END_SECONDS)

    def kill(self) -> None:
        """It does not answer: it must start nothing while another cleans up."""
        if self._pidfd is not None:
            log.warning("the scheduler's process does not answer, killed")
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
            self.wait()

    def _release(self) -> None:
        if self._pidfd is not None:
            os.close(self._pidfd)
            self._pidfd = None
