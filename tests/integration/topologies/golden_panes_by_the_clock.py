"""Golden panes that the clock asks for, on the engine: FOLDER SCRIPT.

SCRIPT is JSON: way → its moments, each {"after": n, "records": [[event time, value], …], "watermark": time or
null} with times in seconds. A moment comes when `n` panes of its way have been seen. FOLDER has the panes of
each way, as they come.
"""

import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heronpy import Pipeline
from heronpy.connectors import Chunk, Reader, Sink, Source, Writer
from heronpy.pipeline import everything, sessions, tumbling
from heronpy.pipeline.triggers import at_watermark, every
from heronpy.pipeline.watermarks import SOURCE

folder, script = Path(sys.argv[1]), json.loads(sys.argv[2])
#: a minute of the examples, in seconds: the machine may stall for two thirds of it
MINUTE = 2.5


@dataclass(frozen=True)
class Answering(Source[list[int]]):
    """One split, whose next moment waits until the panes before it have been seen."""

    way: str
    name = "answering"

    def splits(self) -> Sequence[str]:
        return ["0"]

    def open(self) -> Reader[list[int]]:
        return _Moments(self.way)


class _Moments(Reader[list[int]]):
    def __init__(self, way: str) -> None:
        self._moments, self._seen, self._next = script[way], folder / way, 0

    def assign(self, positions: Mapping[str, Any]) -> None:
        self._next = (positions["0"] or 0) if "0" in positions else len(self._moments) + 1

    def poll(self, most: int) -> Chunk[list[int]] | None:
        if self._next == len(self._moments):
            self._next += 1
            return Chunk("0", [], self._next, ended=True)
        if self._next > len(self._moments):
            return None
        moment = self._moments[self._next]
        if self._panes() < moment["after"] or not _minute_is_young():
            return None
        self._next += 1
        at = moment["watermark"]
        return Chunk("0", moment["records"], self._next, watermark=at and at * 1_000_000)

    def _panes(self) -> int:
        return self._seen.read_bytes().count(b"\n") if self._seen.exists() else 0


def _minute_is_young() -> bool:
    """A watermark is to come in the same minute as the records before it."""
    return time.time() % MINUTE < MINUTE / 3


@dataclass(frozen=True)
class Shown(Sink[Any]):
    """A line for each pane, at once."""

    way: str
    name = "shown"
    changes = "upsert"

    def open(self, owner: str) -> Writer[Any]:
        return _Lines(folder / self.way)


class _Lines(Writer[Any]):
    def __init__(self, path: Path) -> None:
        self._file = path.open("a")

    def write(self, records: Sequence[Any]) -> None:
        self._file.writelines(f"{record!r}\n" for record in records)
        self._file.flush()

    def close(self) -> None:
        self._file.close()


minutes = every(MINUTE)
fixed = tumbling("2m")
early: dict[str, Any] = {"trigger": at_watermark(early=minutes), "lateness": "10m"}
WAYS: dict[str, tuple[Any, dict[str, Any]]] = {
    "2a-accumulating": (everything(), {"trigger": minutes}),
    "2a-discarding": (everything(), {"trigger": minutes, "panes": "discarding"}),
    "3": (fixed, {"trigger": minutes}),
    "5-accumulating": (fixed, early),
    "5-discarding": (fixed, {**early, "panes": "discarding"}),
    "5-retracting": (fixed, {**early, "panes": "retracting"}),
    "6": (sessions("61s"), {**early, "panes": "retracting"}),
}
p = Pipeline("golden-panes-by-the-clock")
for way, (windows, how) in WAYS.items():
    steps = p.read(Answering(way), name=way)
    timed = steps.event_time(lambda step: step[0], unit="s", lag=SOURCE, name=f"{way}.timed")
    sums = timed.window(windows, **how).sum(lambda step: step[1], name=f"{way}.sum")
    sums.write(Shown(way), name=f"{way}.shown", par=1)
p.run()
