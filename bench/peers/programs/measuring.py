"""What the peers in Python share: the words, CPU time of all their processes, and the line that is printed.

The standard library alone: this runs in the environment of the peer.
"""

from __future__ import annotations

import array
import json
import os
import platform
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_TICKS = os.sysconf("SC_CLK_TCK")


def block() -> list[str]:
    """The words of the block that the first argument names."""
    numbers = array.array("i")
    numbers.frombytes(Path(sys.argv[1]).read_bytes())
    return [f"word{number}" for number in numbers]


def cpu_seconds() -> float:
    """Of this process and all below it, also those that have ended."""
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                stat = Path(f"/proc/{entry}/stat").read_text(errors="replace")
            except OSError:
                continue
            fields = stat[stat.rindex(")") + 2 :].split()
            found[int(entry)] = (int(fields[1]), sum(map(int, fields[11:15])) / _TICKS)
    tree = {os.getpid()}
    while more := {pid for pid, (parent, _) in found.items() if parent in tree} - tree:
        tree |= more
    return time.process_time() + sum(found[pid][1] for pid in tree - {os.getpid()})


class Clock:
    """Of the words between which is measured: the second and the third argument."""

    def __init__(self) -> None:
        self.first, self.last = int(sys.argv[2]), int(sys.argv[3])
        self.stamps: list[tuple[float, float]] = []

    def mark(self) -> None:
        self.stamps.append((time.monotonic(), cpu_seconds()))


def report(clock: Clock, counts: Iterable[tuple[str, int]], **versions: str) -> None:
    """Print what was found: one line of JSON."""
    words = distinct = squares = weighted = 0
    for word, count in counts:
        words += count
        distinct += 1
        squares += count * count
        weighted += int(word[4:]) * count
    (began, cpu_began), (ended, cpu_ended) = clock.stamps
    said: dict[str, Any] = {
        "words": clock.last - clock.first,
        "seconds": ended - began,
        "cpu_seconds": cpu_ended - cpu_began,
        "tally": {"words": words, "distinct": distinct, "squares": squares, "weighted": weighted},
        "versions": {"python": platform.python_version(), **versions},
    }
    print(json.dumps(said), flush=True)
