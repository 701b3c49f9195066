"""How much CPU time processes of this machine have used."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from heronpy.kernel.machine.processes import processes

_TICKS = os.sysconf("SC_CLK_TCK")


class TreeCpu:
    """The CPU time of this process, its children and theirs from now on, also of those that end meanwhile."""

    def __init__(self) -> None:
        self._others = _others()
        # last here and first below: looking at the others is not part of it
        self._own = time.process_time()

    def spent(self) -> float:
        """CPU seconds so far."""
        own = time.process_time() - self._own
        return own + _others() - self._others


def _others() -> float:
    """Of all processes below this one, with those that have ended and were waited for."""
    ended = os.times()
    tree = {os.getpid()}
    found = {each.pid: each.parent for each in processes()}
    while more := {pid for pid, parent in found.items() if parent in tree} - tree:
        tree |= more
    tree.remove(os.getpid())
    return ended.children_user + ended.children_system + sum(map(_cpu_seconds, tree))


def cpu_seconds_of(belongs: Callable[[bytes], bool]) -> float:
    """Of every process whose command line, as in /proc, belongs; with the children that it has waited for."""
    return sum(_cpu_seconds(each.pid) for each in processes() if belongs(_command_line(each.pid)))


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return b""


def _cpu_seconds(pid: int) -> float:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    # the name before the last ")" is free text; then: user and system time, and those of children
    return sum(map(int, stat[stat.rindex(")") + 2 :].split()[11:15])) / _TICKS
