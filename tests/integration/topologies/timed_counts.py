"""Windows and timers by user, for tests that interfere while it runs: INPUT FOLDER BRAKE.

A line is "user second number"; lines of one file are out of order by less than 5 s. While there is a file
BRAKE, those with a number below the one in it are read at full speed and the others slowly, and then more
slowly: so the input does not end before the test has done what it wants. Below FOLDER: `panes` of the count
by user, in windows of 10 s; `late`, what came too late for that; `sums` of the numbers by user, in windows
of 30 s every 10 s, which begin in the tasks of the source; `reminders`, which every line asks for, 3 s
behind its time; `missed`, those that came out of order.
"""

import contextlib
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from heronpy import Pipeline
from heronpy.pipeline import Context, Result, Tag, Timer, sinks, sliding, sources, tumbling

inputs, folder, brake = map(Path, sys.argv[1:])
#: lines between two looks at the brake
SOME = 20
passed = 0
#: lines with a lower number are read at full speed
freely = 0
missed = Tag[str]("missed")


@dataclass(frozen=True)
class Click:
    user: str
    second: int
    number: int


def parsed(line: str) -> Click:
    user, second, number = line.split()
    if int(number) >= freely:
        slow_down(int(number))
    return Click(user, int(second), int(number))


def slow_down(number: int) -> None:
    global passed, freely
    passed += 1
    if passed % SOME:
        return
    with contextlib.suppress(FileNotFoundError):
        freely = int(brake.read_text())
        if number >= freely:
            time.sleep(0.05 if passed < 3000 else 0.2)


@dataclass
class Reminded:
    last: float = 0.0


def remember(state: Reminded, click: Click, context: Context[str]) -> Iterator[str]:
    context.timer(context.timestamp + timedelta(seconds=3), str(click.number))
    yield from ()


def remind(state: Reminded, timer: Timer, context: Context[str]) -> Iterator[str]:
    at = timer.at.timestamp()
    if at < state.last:
        context.side(missed, f"{context.key} {timer.tag}")
    state.last = at
    yield f"{context.key} {timer.tag} {at:.0f}"


p = Pipeline("timed-counts", **{"topology.stmgrs": 2})
clicks = p.read(sources.lines(str(inputs)), name="lines", par=2).map(parsed, name="clicks")
timed = clicks.event_time(lambda click: click.second, unit="s", lag="5s", name="timed")
by_user = timed.key_by(lambda click: click.user, name="user")
counts = by_user.window(tumbling("10s")).count(name="count", par=2)


def said(r: Result[str, int]) -> str:
    return f"{r.key} {r.window.start.timestamp():.0f} {r.value} {r.pane.index} {r.pane.timing}"


counts.map(said, name="shown").write(sinks.files(folder / "panes"), name="panes")
counts.late.map(str, name="aside").write(sinks.files(folder / "late"), name="late")
sums = by_user.window(sliding("30s", every="10s")).sum(lambda click: click.number, name="sum", par=2)
sums.map(said, name="added").write(sinks.files(folder / "sums"), name="sums")
reminders = by_user.process(Reminded, remember, on_timer=remind, name="remind", par=2)
reminders.write(sinks.files(folder / "reminders"), name="reminders")
reminders[missed].write(sinks.files(folder / "missed"), name="missed")
p.run()
