"""The keys below `topology.` in a topology's config: which ones the engine reads, and which it only knows."""

from __future__ import annotations

import difflib
from typing import Final

PREFIX: Final = "topology."

#: what the engine and its packing plugins read
HEEDED: Final = frozenset(
    {
        "topology.auto.task.hooks",
        "topology.component.cpumap",
        "topology.component.diskmap",
        "topology.component.rammap",
        "topology.container.cpu",
        "topology.container.disk",
        "topology.container.max.instances",
        "topology.container.padding.percentage",
        "topology.container.ram",
        "topology.container.ram.padding",
        "topology.droptuples.upon.backpressure",
        "topology.enable.message.timeouts",
        "topology.fuse",
        "topology.key.groups",
        "topology.max.spout.pending",
        "topology.message.timeout.secs",
        "topology.name",
        "topology.packing.ffd.sorting.strategy",
        "topology.poison",
        "topology.poison.deaths",
        "topology.reliability.mode",
        "topology.serializer.classname",
        "topology.stateful.checkpoint.interval.seconds",
        "topology.stmgrs",
        "topology.tick.tuple.freq.secs",
    }
)

#: Apache Heron's, without an effect here: components find them in their config, as any other key
UNHEEDED: Final = frozenset(
    {
        "topology.additional.classpath",
        "topology.cap.ticket",
        "topology.component.jvmopts",
        "topology.component.output.bps",
        "topology.component.output.tps",
        "topology.component.parallelism",
        "topology.container.max.cpu.hint",
        "topology.container.max.disk.hint",
        "topology.container.max.ram.hint",
        "topology.debug",
        "topology.project.name",
        "topology.stateful.start.clean",
        "topology.team.email",
        "topology.team.name",
        "topology.worker.childopts",
    }
)

#: keys whose value is a mapping
MAPS: Final = frozenset(
    {"topology.component.cpumap", "topology.component.diskmap", "topology.component.rammap"}
)


def guess(key: str) -> str:
    """`"; did you mean …?"` for a key that resembles one of those that are read; empty if none does."""
    # without the common prefix, with which all keys would resemble each other
    names = [known.removeprefix(PREFIX) for known in sorted(HEEDED)]
    close = difflib.get_close_matches(key.removeprefix(PREFIX), names, n=1)
    return f"; did you mean {PREFIX + close[0]!r}?" if close else ""


def misspelt(key: str) -> str:
    """The guess for a key of a topology file, which may hold any: Apache Heron has more than are here."""
    known = not key.startswith(PREFIX) or key in HEEDED or key in UNHEEDED
    return "" if known else guess(key)
