"""Facts about processes of this machine, read from /proc."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

_PAGE, _TICKS = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_CLK_TCK")


class Process(msgspec.Struct, frozen=True):
    """One process at one moment. Its pid and start time together are never used again until a reboot."""

    pid: int
    #: one letter; Z is a zombie, which runs no more
    state: str
    parent: int
    group: int
    session: int
    #: clock ticks since boot
    started: int

    @property
    def alive(self) -> bool:
        return self.state not in "ZX"

    @property
    def stopped(self) -> bool:
        """Whether it is stopped, and reacts to no signal but SIGKILL and SIGCONT."""
        return self.state in "Tt"


def process(pid: int) -> Process | None:
    """The process with this pid, or None."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # the name before the last ")" is free text and may itself hold blanks and brackets
    fields = stat[stat.rindex(")") + 2 :].split()
    return Process(pid, fields[0], int(fields[1]), int(fields[2]), int(fields[3]), int(fields[19]))


def processes() -> Iterator[Process]:
    """Every process that can be seen, zombies included."""
    for name in os.listdir("/proc"):
        if name.isdigit() and (found := process(int(name))) is not None:
            yield found


def memory_bytes(pid: int) -> int:
    """Resident memory of a process."""
    return _PAGE * int(Path(f"/proc/{pid}/statm").read_text().split()[1])


def start_time(pid: int) -> float:
    """When a process began, as a Unix time."""
    found = process(pid)
    if found is None:
        raise ProcessLookupError(pid)
    lines = Path("/proc/stat").read_text().splitlines()
    (booted,) = (line for line in lines if line.startswith("btime "))
    return int(booted.split()[1]) + found.started / _TICKS


def boot_id() -> str:
    """Changes with every boot of the machine, so that a start time from before cannot be mistaken."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
