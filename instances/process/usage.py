"""What a process uses of its machine: it has one figure, however many tasks live in it."""

from __future__ import annotations

import os
import resource

import psutil

from heronpy.kernel.protocol import Sample


class Usage:
    """Of this process."""

    def __init__(self) -> None:
        self._process = psutil.Process(os.getpid())

    def samples(self) -> list[Sample]:
        used = resource.getrusage(resource.RUSAGE_SELF)
        gauges = {
            "memory_bytes": self._process.memory_info().rss,
            "started_seconds": self._process.create_time(),
        }
        return [
            Sample(name="cpu_seconds", value=used.ru_utime + used.ru_stime, kind="counter"),
            *(Sample(name=name, value=value, kind="gauge") for name, value in gauges.items()),
        ]
