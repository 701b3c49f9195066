"""Sources of which one split is silent, followed with idle= and without: FOLDER.

The other split always has a number with the time of now, and now and then one from the year 2100. Below
FOLDER: `idle`, the seconds whose windows have closed where silence is not waited for; `waiting`, where it is.
"""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from heronpy import Pipeline
from heronpy.connectors import Chunk, Reader, Source
from heronpy.connectors.turns import SplitReader, TurnReader
from heronpy.pipeline import sinks, tumbling

folder = Path(sys.argv[1])
YEAR_2100 = 4_102_444_800


class Splits(Source[float]):
    """One split that has something whenever it is asked, and one that never has."""

    name = "splits"
    bounded = False

    def splits(self) -> Sequence[str]:
        return ["busy", "silent"]

    def open(self) -> Reader[float]:
        return _Times()


class _Times(TurnReader[float]):
    def open_split(self, split: str, position: Any) -> SplitReader[float]:
        return _Busy(position or 0) if split == "busy" else _Silent()


class _Busy(SplitReader[float]):
    def __init__(self, given: int) -> None:
        self._given = given

    def read(self, most: int) -> Chunk[float]:
        self._given += 1
        at = YEAR_2100 if self._given % 50 == 0 else time.time()
        return Chunk("busy", [at], self._given)


class _Silent(SplitReader[float]):
    def read(self, most: int) -> None:
        return None


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
