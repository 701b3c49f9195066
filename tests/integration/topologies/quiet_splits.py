"""Sources of which one split is silent, followed with idle= and without: FOLDER.

The other split gives numbers with the time of now, and now and then one from the year 2100. Below FOLDER:
`idle`, the seconds whose windows have closed where silence is not waited for; `waiting`, where it is.
"""

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from heronpy import Pipeline
from heronpy.connectors import Chunk, Reader, Source
from heronpy.pipeline import sinks, tumbling

folder = Path(sys.argv[1])
YEAR_2100 = 4_102_444_800


class Splits(Source[float]):
    """One split that has something, and one that never has."""

    name = "splits"
    bounded = False

    def splits(self) -> Sequence[str]:
        return ["busy", "silent"]

    def open(self) -> Reader[float]:
        return _Times()


class _Times(Reader[float]):
    def __init__(self) -> None:
        self._busy, self._given = False, 0

    def assign(self, positions: Mapping[str, Any]) -> None:
        self._busy, self._given = "busy" in positions, positions.get("busy") or 0

    def poll(self, most: int) -> Chunk[float] | None:
        if not self._busy or time.time() % 0.1 > 0.05:
            return None
        self._given += 1
        at = YEAR_2100 if self._given % 50 == 0 else time.time()
        return Chunk("busy", [at], self._given)


p = Pipeline("quiet-splits")
for name, idle in (("idle", "1s"), ("waiting", None)):
    times = p.read(Splits(), name=f"{name}.read", par=1)
    timed = times.event_time(
        lambda at: at, unit="s", lag="1s", idle=idle, on_error="skip", name=f"{name}.timed"
    )
    none = timed.filter(lambda _: False, name=f"{name}.filtered").window(tumbling("1s"))
    none.count(name=f"{name}.none").write(sinks.files(folder / "none"), name=f"{name}.no")
    counts = timed.window(tumbling("1s")).count(name=f"{name}.count")
    shown = counts.map(lambda r: f"{r.window.end.timestamp():.0f}", name=f"{name}.shown")
    shown.write(sinks.files(folder / name), name=f"{name}.files")
p.run()
