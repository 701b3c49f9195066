"""What a process uses of its machine: it has one figure, however many tasks live in it."""

from __future__ import annotations

import os
import resource

from heronpy.kernel.machine.processes import memory_bytes, start_time
from heronpy.kernel.protocol import Sample

#: CPU seconds that are no news
LITTLE = 0.02


class Usage:
    """Of this process."""

    def __init__(self) -> None:
        self._started = start_time(os.getpid())
        #: CPU seconds, as told last
        self._told = 0.0

    @property
    def has_moved(self) -> bool:
        """Whether there is news: more CPU time than a process takes that only waits."""
        return _cpu_seconds() - self._told > LITTLE

    def samples(self) -> list[Sample]:
        self._told = _cpu_seconds()
        gauges = {"memory_bytes": memory_bytes(os.getpid()), "started_seconds": self._started}
        return [
            Sample(name="cpu_seconds", value=self._told, kind="counter"),
            *(Sample(name=name, value=value, kind="gauge") for name, value in gauges.items()),
        ]


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
