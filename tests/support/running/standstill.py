"""How long the low watermark of a running topology stands still, as its status shows it."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection
from types import TracebackType
from typing import Self

from support.running.engine import Engine
from support.running.watching import Watching

#: seconds between two looks; beats say more about once a second
LOOK = 0.05
#: seconds for which the watermark is waited for when what was measured is over
PATIENCE = 10.0


class Standstill:
    """Looks from a thread of its own: from the beginning of a `with` block until time goes on behind it."""

    def __init__(self, engine: Engine, topology: str, components: Collection[str]) -> None:
        self._engine, self._topology, self._components = engine, topology, components
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, name="standstill")
        #: the longest time that the lowest watermark of these components stood still, in seconds
        self.longest = 0.0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        with Watching(self._engine, self._topology) as watching:
            at, since = self._lowest(watching), time.monotonic()
            ends: float | None = None
            while ends is None or time.monotonic() < ends:
                time.sleep(LOOK)
                now = time.monotonic()
                if ends is None and self._over.is_set():
                    ends = now + PATIENCE
                lowest = self._lowest(watching)
                if lowest is not None and (at is None or lowest > at):
                    self.longest = max(self.longest, now - since)
                    at, since = lowest, now
                    if ends is not None:
                        return
            self.longest = max(self.longest, time.monotonic() - since)

    def _lowest(self, watching: Watching) -> float | None:
        times = [one for one in watching.status().event_time if one.component in self._components]
        said = [one.low_watermark for one in times if one.low_watermark is not None]
        return min(said) if len(said) == len(self._components) else None
