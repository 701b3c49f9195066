"""The golden panes on the engine: FOLDER SCRIPT, where SCRIPT is JSON of what the sources give, step by step.

A step is [event time, value], or [watermark]; times are seconds. Below FOLDER is one folder for each way to
show the panes, and `late`.
"""

import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heronpy import Pipeline
from heronpy.connectors import Chunk, Reader, Source
from heronpy.pipeline import everything, sessions, sinks, tumbling
from heronpy.pipeline.triggers import at_count, at_watermark, every
from heronpy.pipeline.watermarks import SOURCE

folder, script = Path(sys.argv[1]), json.loads(sys.argv[2])
#: seconds between two steps: watermarks that come faster are sent together
PACE = 0.03


@dataclass(frozen=True)
class Scripted(Source[list[int]]):
    """One split: the records and watermarks of a script, one after the other."""

    script: str
    name = "scripted"

    def splits(self) -> Sequence[str]:
        return ["0"]

    def open(self) -> Reader[list[int]]:
        return _Steps(script[self.script])


class _Steps(Reader[list[int]]):
    def __init__(self, steps: list[list[int]]) -> None:
        self._steps, self._next, self._due = steps, 0, 0.0

    def assign(self, positions: Mapping[str, Any]) -> None:
        self._next = (positions["0"] or 0) if "0" in positions else len(self._steps) + 1

    def poll(self, most: int) -> Chunk[list[int]] | None:
        if self._next > len(self._steps) or time.monotonic() < self._due:
            return None
        self._due = time.monotonic() + PACE
        self._next += 1
        if self._next > len(self._steps):
            return Chunk("0", [], self._next, ended=True)
        step = self._steps[self._next - 1]
        if len(step) == 2:
            return Chunk("0", [step], self._next)
        return Chunk("0", [], self._next, watermark=step[0] * 1_000_000)


p = Pipeline("golden-panes")
streams = {}
for name in script:
    steps = p.read(Scripted(name), name=name)
    streams[name] = steps.event_time(lambda step: step[0], unit="s", lag=SOURCE, name=f"{name}.timed")

fixed, late = tumbling("2m"), {"lateness": "10m"}
WAYS: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "1-everything": ("none", everything(), {}),
    "1-fixed": ("none", fixed, {}),
    "2b": ("none", everything(), {"trigger": at_count(2), "panes": "discarding"}),
    "4a": ("perfect", fixed, {}),
    "4b": ("guessed", fixed, {}),
    "5-accumulating": ("guessed", fixed, late),
    "5-discarding": ("guessed", fixed, {**late, "panes": "discarding"}),
    "5-retracting": ("guessed", fixed, {**late, "panes": "retracting"}),
    "6": ("guessed", sessions("61s"), {**late, "panes": "retracting"}),
    "by-the-clock": (
        "guessed",
        fixed,
        {**late, "panes": "discarding", "trigger": at_watermark(early=every("20ms"))},
    ),
}
for way, (name, windows, how) in WAYS.items():
    sums = streams[name].window(windows, **how).sum(lambda step: step[1], name=f"{way}.sum")
    sums.write(sinks.files(folder / way), name=f"{way}.files", par=1)
    if way == "4b":
        sums.late.write(sinks.files(folder / "late"), name="late.files")
p.run()
