"""The memory of every process of a topology over time: a line for each, and how much each has grown."""

from __future__ import annotations

import re
import statistics
import time
from pathlib import Path
from typing import NamedTuple

import psutil
from support.running.engine import Engine

MB = 2**20

_TITLE = re.compile(r"heronpy: \S+ (.+) \(container \d+\)")
_MODULES = "heronpy.container."


class Memory(NamedTuple):
    """What a process has at one moment, in bytes."""

    resident: int
    #: of that, what no other process has: forked ones share the rest
    private: int


class Growth(NamedTuple):
    """One process, from the end of the warm-up to the end of the run."""

    process: str
    warm: Memory
    end: Memory
    seconds: float

    @property
    def resident(self) -> int:
        return self.end.resident - self.warm.resident

    def line(self) -> str:
        hourly = self.resident * 3600 / self.seconds
        sizes = (self.warm.resident, self.end.resident, self.resident, hourly)
        private = (self.warm.private, self.end.private)
        return f"{self.process:24}" + "".join(f"{size / MB:10.2f}" for size in (*sizes, *private))


class MemoryLog:
    """Samples of all processes that run; one that is replaced meanwhile is an error of the run."""

    HEAD = f"{'MB of':24}{'warm':>10}{'end':>10}{'growth':>10}{'an hour':>10}{'private':>10}{'… end':>10}"

    def __init__(self, engine: Engine) -> None:
        self._processes = {name_of(process): process for process in engine.processes()}
        self._samples: dict[str, list[tuple[float, Memory]]] = {name: [] for name in self._processes}
        self._begun = time.monotonic()

    def sample(self) -> None:
        at = time.monotonic() - self._begun
        for name, process in self._processes.items():
            self._samples[name].append((at, memory_of(process.pid)))

    def growths(self, warm_up: float, window: float) -> list[Growth]:
        """Medians over a window of so many seconds: right after the warm-up, and at the end."""
        last = max(at for samples in self._samples.values() for at, _ in samples)
        return [
            Growth(
                name,
                _median([memory for at, memory in samples if warm_up <= at < warm_up + window]),
                _median([memory for at, memory in samples if at > last - window]),
                last - window - warm_up,
            )
            for name, samples in sorted(self._samples.items())
        ]


def name_of(process: psutil.Process) -> str:
    """`count[1]`, `stream-manager-2`; `executor 1` and `zygote 1` are those of container 1."""
    command = process.cmdline()
    if title := _TITLE.match(" ".join(command)):
        return title[1]
    module = next(word for word in command if word.startswith(_MODULES)).removeprefix(_MODULES)
    of_container = {"executor": process, "zygote": process.parent()}.get(module)
    return f"{module} {of_container.cmdline()[-1]}" if of_container is not None else module


def memory_of(pid: int) -> Memory:
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    sizes = {name: int(size) * 1024 for name, size in re.findall(r"^(\w+):\s+(\d+) kB", text, re.MULTILINE)}
    return Memory(sizes["Rss"], sizes["Private_Clean"] + sizes["Private_Dirty"])


def _median(memories: list[Memory]) -> Memory:
    resident, private = (int(statistics.median(sizes)) for sizes in zip(*memories, strict=True))
    return Memory(resident, private)
