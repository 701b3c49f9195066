"""Memory links on which frames take their time: each channel keeps its order, and no other order is kept."""

from __future__ import annotations

import random
from collections import deque

from heronpy.instances.execution.memory_links import Frame, MemoryLink, MemoryLinks
from heronpy.kernel.flow.frame import Prefix, route


class DicedLinks(MemoryLinks):
    """A task that pumps gets some of the frames of each sender, in any interleaving."""

    def __init__(self, dice: random.Random) -> None:
        super().__init__()
        self._dice = dice

    def due(self, link: MemoryLink) -> list[Frame]:
        channels: dict[int, deque[Frame]] = {}
        for frame in link.arrived:
            channels.setdefault(_source(frame[0]), deque()).append(frame)
        coming = [
            source for source, frames in channels.items() for _ in range(self._dice.randint(0, len(frames)))
        ]
        self._dice.shuffle(coming)
        chosen = [channels[source].popleft() for source in coming]
        link.arrived = deque(frame for frames in channels.values() for frame in frames)
        return chosen


def _source(prefix: bytes | Prefix) -> int:
    return prefix.source if isinstance(prefix, Prefix) else route(prefix)[1]
