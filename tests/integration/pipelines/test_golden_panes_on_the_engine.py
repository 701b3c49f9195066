"""The golden panes through real processes.

Where windows speak by the clock, the source waits for each pane before it goes on, so that all come as they
are in the table. In one example it does not wait: how often windows speak then depends on the moment, and
what they say adds up all the same.
"""

from __future__ import annotations

import datetime
import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from support.pipelines.golden_panes import GOLDEN, GUESSED, MINUTES, PERFECT, RECORDS, SESSIONS, Golden, table
from support.pipelines.window_script import at
from support.running.engine import TOPOLOGIES, Engine

from heronpy.pipeline import Pane, Result, Window

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(180)]

ON_TIME = ["12:00:00 5o", "12:02:00 18o", "12:04:00 4o"]
LAST = "12:06:00 12o"
PANES = {
    "1-everything": ["48o"],
    "1-fixed": ["12:00:00 14o", "12:02:00 18o", "12:04:00 4o", "12:06:00 12o"],
    "2b": ["12e", "7e", "11e", "17e", "1o"],
    "4a": ["12:00:00 14o", "12:02:00 18o", "12:04:00 4o", "12:06:00 12o"],
    "4b": [*ON_TIME, LAST],
    "5-accumulating": [*ON_TIME, "12:00:00 14l", LAST],
    "5-discarding": [*ON_TIME, "12:00:00 9l", LAST],
    "5-retracting": [*ON_TIME, "12:00:00 -5", "12:00:00 14l", LAST],
    # the nine bridges what had been two sessions, both of them complete
    "6": ["12:00:26 5o", "12:02:26 22o", "12:00:26 -5", "12:02:26 -22", "12:00:26 36l", "12:06:39 12o"],
    "late": ["43286\t9"],
}
SUMS = {"12:00:00": 14, "12:02:00": 18, "12:04:00": 4, "12:06:00": 12}
PANE = re.compile(r"(\S+) (\d+)([eol])")
#: what a sink writes of a result
NAMES = {"Result": Result, "Window": Window, "Pane": Pane, "datetime": datetime}


def shown(line: str) -> str:
    """A result by the start of its window, its value, and early, on time or late; - takes back."""
    if not line.startswith("Result("):
        return line
    result = eval(line, NAMES)
    start = "" if result.window.start.year == 1 else f"{result.window.start:%H:%M:%S} "
    return f"{start}-{result.value}" if result.retracts else f"{start}{result.value}{result.pane.timing[0]}"


def script(watermarks: list[tuple[str, str]]) -> list[list[int]]:
    """Records and watermarks in the order in which they come; at one instant the watermark first."""
    steps = [(at(when), 0, [at(watermark)]) for when, watermark in watermarks]
    steps += [(at(arrival), 1, [at(time), value]) for time, arrival, value in RECORDS]
    return [[step[0] // 1_000_000, *step[1:]] for *_, step in sorted(steps)]


#: what windows by the clock show, minute by minute
BY_THE_CLOCK: dict[str, Golden] = {
    "2a-accumulating": GOLDEN["2a everything every minute, accumulating"],
    "2a-discarding": GOLDEN["2a everything every minute, discarding"],
    "3": GOLDEN["3 fixed every minute"],
    "5-accumulating": GOLDEN["5 early, on time and late, accumulating"],
    "5-discarding": GOLDEN["5 discarding"],
    "5-retracting": GOLDEN["5 retracting"],
    "6": SESSIONS,
}


def panes_of(example: Golden) -> list[tuple[int, str]]:
    """Each pane with the second at which it is shown."""
    lines = (line.split(": ", 1) for line in example[3])
    return [(at(when) // 1_000_000, pane) for when, panes in lines for pane in panes.split(", ")]


def moments(example: Golden) -> list[dict[str, Any]]:
    """What comes between two ticks of the clock, up to a watermark or what a record at once has shown; and
    how many panes have been seen before."""
    _, watermarks, _, _ = example
    events: list[tuple[int, int, Any]] = [(at(minute) // 1_000_000, 0, None) for minute in MINUTES]
    events += [(at(when) // 1_000_000, 1, at(said) // 1_000_000) for when, said in watermarks]
    events += [(at(come) // 1_000_000, 2, [at(time) // 1_000_000, value]) for time, come, value in RECORDS]
    panes, made = panes_of(example), list[dict[str, Any]]()
    seen, records = 0, list[Any]()
    for now, kind, what in sorted(events, key=lambda event: event[:2]):
        if kind == 2:
            records.append(what)
        # at one instant the tick is before the watermark, and shows nothing on time
        shown = sum(when < now or (when == now and (kind > 0 or pane[-1] != "o")) for when, pane in panes)
        if kind == 1 or (shown > seen and records):
            made.append({"after": seen, "records": records, "watermark": what if kind == 1 else None})
            records = []
        seen = shown
    return [*made, {"after": len(panes), "records": [], "watermark": None}]


def test_the_engine_shows_the_golden_panes_that_the_clock_asks_for(engine: Engine, tmp_path: Path) -> None:
    scripts = {way: moments(example) for way, example in BY_THE_CLOCK.items()}
    engine.ok(
        "run", str(TOPOLOGIES / "golden_panes_by_the_clock.py"), str(tmp_path), json.dumps(scripts),
        "--runner", "engine", "--set", "topology.fuse=container",
        # a watermark leaves before the records behind it, however fast they come
        "--set", "watermark.interval=0s", "--set", "watermark.per_receiver=0s",
    )  # fmt: skip

    def seen(way: str) -> list[str]:
        results = [eval(line, NAMES) for line in (tmp_path / way).read_text().splitlines()]
        (line,) = table([(0, result) for result in results], ends=way == "6")
        return line.removeprefix("00:00: ").split(", ")

    expected = {way: [pane for _, pane in panes_of(example)] for way, example in BY_THE_CLOCK.items()}
    assert {way: seen(way) for way in BY_THE_CLOCK} == expected
    assert engine.leftovers() == []


def test_the_engine_shows_the_golden_panes(engine: Engine, tmp_path: Path) -> None:
    scripts = {"none": script([]), "perfect": script(PERFECT), "guessed": script(GUESSED)}
    engine.ok(
        "run", str(TOPOLOGIES / "golden_panes.py"), str(tmp_path), json.dumps(scripts),
        "--runner", "engine", "--set", "topology.fuse=container", "--set", "checkpoint.interval=200ms",
    )  # fmt: skip

    def written(way: str) -> list[str]:
        """All panes, in the order of the commits."""
        files = sorted((tmp_path / way).glob("*.txt"))
        return [shown(line) for file in files for line in file.read_text().splitlines()]

    assert {way: written(way) for way in PANES} == PANES
    sums: defaultdict[str, int] = defaultdict(int)
    timings: defaultdict[str, str] = defaultdict(str)
    for line in written("by-the-clock"):
        found = PANE.fullmatch(line)
        assert found is not None, line
        start, value, timing = found.groups()
        sums[start] += int(value)
        timings[start] += timing
    assert sums == SUMS
    assert any("e" in told for told in timings.values()), "no window spoke by the clock"
    assert all(re.fullmatch("e*o?l*", told) for told in timings.values()), timings
    assert engine.leftovers() == []
