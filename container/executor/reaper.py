"""Waits for children that ended, and ends orphaned processes."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator, Set

from heronpy.kernel.machine.processes import Process, processes


def reap() -> Iterator[tuple[int, int]]:
    """Pid and wait status of every child that has ended by now.

    What a child has forked, and left in its process group, ends with it: nothing else would end the workers
    of a bolt that crashes repeatedly. Its pid is not free until it is waited for, so the group is its own.
    """
    while True:
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is None:
                return
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(ended.si_pid, signal.SIGKILL)
            yield os.waitpid(ended.si_pid, 0)
        except ChildProcessError:
            return


def end_strangers(known: Set[int], *, same_session: bool = False) -> None:
    """Kill and reap every child of this process that is not known: what ended children left behind.

    The children of a killed process are inherited by this one, so this repeats until there is none.
    """
    while strangers := _strangers(known, same_session):
        for stranger in strangers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(stranger.pid, signal.SIGKILL)
        for stranger in strangers:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(stranger.pid, 0)


def _strangers(known: Set[int], same_session: bool) -> list[Process]:
    me, session = os.getpid(), os.getsid(0)
    return [
        each
        for each in processes()
        if each.parent == me and each.pid not in known and (each.session == session or not same_session)
    ]
