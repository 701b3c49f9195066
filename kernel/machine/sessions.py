"""All processes of a session: a container's processes can be found even when its first one is gone."""

from __future__ import annotations

import contextlib
import os
import signal
import time

import msgspec

from heronpy.kernel.errors import UserError
from heronpy.kernel.machine.processes import boot_id, process, processes

#: SIGKILL takes effect at once unless a process hangs in the kernel
KILL_SECONDS = 5.0


class Session(msgspec.Struct, frozen=True):
    """Known by its first process, which leads the session and its process group."""

    #: 0 when it is not known
    pid: int
    #: start time of that process, see kernel.processes
    started: int
    boot: str

    @classmethod
    def of_this_process(cls) -> Session:
        ours = process(os.getpid())
        assert ours is not None
        return cls(ours.pid, ours.started, boot_id())

    def members(self) -> list[int]:
        """Live processes of the session or the group."""
        if not self.pid or self.boot != boot_id():
            return []
        leader = process(self.pid)
        if leader is not None and leader.started != self.started:
            # a pid is not reused while a group or session has its number: this session is gone
            return []
        return [each.pid for each in processes() if each.alive and self.pid in (each.group, each.session)]

    def kill(self, whose: str) -> None:
        """SIGKILL to all; returns when none is left."""
        deadline = time.monotonic() + KILL_SECONDS
        while members := self.members():
            for pid in members:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if time.monotonic() > deadline:
                msg = f"{whose}: process {members[0]} does not end after SIGKILL"
                raise UserError(
                    msg, hint="run the command again later; the process hangs in the operating system"
                )
            time.sleep(0.005)
