"""A bolt slowed tenfold under a full-speed spout: memory, rates, recovery, and the path beside it.

python -m bench.slow_bolt [--seconds 60]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import psutil

from bench.arithmetic import machine
from heronpy.kernel.config import load_config
from heronpy.kernel.master.client import MasterClient
from heronpy.kernel.plugin.opening import open_state

HERE = Path(__file__).parent
COMMAND = str(Path(sys.executable).parent / "heronpy")
#: credit.max_bytes, the most that may be on its way to one task
HIGH_MARK = 8 << 20
#: seconds before the bolt is slowed, and after it is quick again
BEFORE, AFTER = 20.0, 15.0
#: seconds that a change of speed takes to show in rates, which come once a second
SETTLING = 4.0
LOOK = 0.25
ANSWER_TIMEOUT = 2.0
#: points of the bolt's progress, a tenth of a second each, over which a rate is taken
STRETCH = 5


class Look(NamedTuple):
    """All processes and rates at one moment."""

    at: float
    memory: dict[str, int]
    rates: dict[str, float]
    backpressure: str


class Watcher:
    """Looks at a running topology again and again."""

    def __init__(self, home: str) -> None:
        self.environment = {**os.environ, "HERONPY_HOME": home}
        self._home = home

    def run(self, *arguments: str) -> str:
        done = subprocess.run(
            [COMMAND, *arguments], env=self.environment, check=True, capture_output=True, text=True
        )
        return done.stdout

    def watch(self, seconds: float) -> list[Look]:
        """What was seen in the coming seconds."""
        begun = time.monotonic()
        seen: list[Look] = []
        # Not by the command: a process for every look would take the cores away from what is measured.
        state = open_state(load_config(os.devnull, environ={"HERONPY_HOME": self._home}))
        with MasterClient(state, "TwoPaths") as master:
            while time.monotonic() - begun < seconds:
                seen.append(self._look(master))
                time.sleep(LOOK)
        state.close()
        return seen

    def _look(self, master: MasterClient) -> Look:
        status = master.status(ANSWER_TIMEOUT)
        rates = {
            one.component: one.emit_rate if one.kind == "spout" else one.execute_rate
            for one in status.instances
        }
        culprits = ", ".join(f"{one.culprit} {one.seconds:.0f} s" for one in status.backpressure)
        return Look(time.monotonic(), self._memory(), rates, culprits)

    def _memory(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for process in psutil.process_iter():
            try:
                line = process.cmdline()
                ours = self._home in process.environ().get("HERONPY_HOME", "")
                if ours and "status" not in line:
                    found[f"{process.pid} {process.name()}"] = process.memory_info().rss
            except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
                continue
        return found


def median_rate(looks: list[Look], component: str) -> float:
    return statistics.median(look.rates[component] for look in looks)


def print_memory(before: list[Look], later: list[Look]) -> None:
    print(f"{'process':32} {'baseline':>10} {'peak':>10} {'limit':>10}   (MB)")
    for name, _ in sorted(before[-1].memory.items(), key=lambda one: one[0].split()[1]):
        baseline = max(look.memory.get(name, 0) for look in before)
        peak = max(look.memory.get(name, 0) for look in later)
        limit = 1.2 * (baseline + HIGH_MARK)
        verdict = "" if peak <= limit else "   OVER"
        print(f"{name:32} {baseline / 2**20:10.1f} {peak / 2**20:10.1f} {limit / 2**20:10.1f}{verdict}")


def recovery(progress: Path, slowed_at: float, quick_at: float) -> float:
    """Seconds until the bolt has 90 % of its rate again; infinite if it never has."""
    points = [(float(at), int(count)) for at, count in map(str.split, progress.read_text().splitlines())]
    rates = [
        (at, (later - count) / (then - at))
        for (at, count), (then, later) in zip(points, points[STRETCH:], strict=False)
    ]
    full = statistics.median(rate for at, rate in rates if at < slowed_at - 1)
    return next((at for at, rate in rates if at >= quick_at and rate >= 0.9 * full), float("inf")) - quick_at


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    seconds = parser.parse_args().seconds
    print(machine())
    with tempfile.TemporaryDirectory(prefix="hb-") as folder:
        watcher, slow = Watcher(f"{folder}/home"), Path(folder) / "slow"
        progress = Path(folder) / "progress"
        watcher.run("submit", str(HERE / "topologies" / "two_paths.py"), str(slow), str(progress))
        try:
            before = watcher.watch(BEFORE)[int(SETTLING / LOOK / 2) :]
            slowed_at = time.monotonic()
            slow.touch()
            during = watcher.watch(seconds)
            quick_at = time.monotonic()
            slow.unlink()
            after = watcher.watch(AFTER)
        finally:
            watcher.run("kill", "--all")
        recovered = recovery(progress, slowed_at, quick_at)
    steady = [look for look in during if look.at - during[0].at > SETTLING]
    print_memory(before, during + after)
    spout, bolt = median_rate(steady, "upper"), median_rate(steady, "brake")
    print(f"slow path, tuples a second: before {median_rate(before, 'brake'):,.0f}, while slow {bolt:,.0f}")
    print(f"its spout while slow: {spout:,.0f}, that is {spout / bolt:.3f} of the bolt; goal: 0.9 to 1.1")
    print(f"90 % of the full rate again after {recovered:.1f} s; goal: 2")
    first, then = median_rate(before, "work"), median_rate(steady, "work")
    print(f"unrelated path: before {first:,.0f}, while slow {then:,.0f}, that is {then / first:.3f}")
    print(f"back-pressure as status showed it last: {during[-1].backpressure or 'nobody'}")


if __name__ == "__main__":
    main()
