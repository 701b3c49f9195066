"""Many small topologies side by side in one home, within the limits that Linux gives a user by default.

python -m bench.many_topologies [NUMBER] [--step 10]

A row after every STEP topologies: how long submit (until RUNNING), list and status took, and what all of them
take at rest. At the end all are killed, one command.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psutil

from bench.arithmetic import machine
from bench.footprint import proportional_mb

TOPOLOGY = Path(__file__).parent / "topologies" / "smallest.py"
COMMAND = str(Path(sys.executable).parent / "heronpy")
#: the soft limit of descriptors that Linux gives a process
DESCRIPTORS = 1024
#: seconds over which CPU time at rest is counted
WATCHED = 10.0

HEADERS = (
    "topologies | submit s, median (largest) | list s | status s | cores at rest | "
    "memory MB | processes | inotify instances | descriptors, all (most of one)"
)


class Home:
    """A heronpy home, and the processes that were started for it."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._environment = {**os.environ, "HERONPY_HOME": folder, "NO_COLOR": "1"}

    def run(self, *args: str) -> tuple[float, str]:
        """A verb's seconds and output; one that fails ends the benchmark with what it said."""
        begun = time.monotonic()
        done = subprocess.run(
            [COMMAND, *args], env=self._environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            sys.exit(f"heronpy {' '.join(args)}: exit {done.returncode}\n{done.stderr}")
        return time.monotonic() - begun, done.stdout

    def processes(self) -> list[psutil.Process]:
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.environ().get("HERONPY_HOME") == self._folder:
                    found.append(process)
        return found

    def states(self) -> tuple[float, list[str]]:
        seconds, output = self.run("list", "-o", "json")
        return seconds, [row["state"] for row in json.loads(output)]


class AtRest(NamedTuple):
    """What all processes of a home take while they have nothing to do."""

    cores: float
    memory: float
    processes: int
    inotify: int
    descriptors: int
    most: int


@contextlib.contextmanager
def new_home() -> Iterator[Home]:
    """Ends what runs in it, also when a command has failed or Ctrl-C came."""
    with tempfile.TemporaryDirectory(prefix="hb-") as folder:
        home = Home(folder)
        try:
            yield home
        finally:
            left = home.processes()
            for act in (psutil.Process.suspend, psutil.Process.kill):  # none starts another meanwhile
                for process in left:
                    with contextlib.suppress(psutil.Error):
                        act(process)
            psutil.wait_procs(left, timeout=10)


def at_rest(home: Home) -> AtRest:
    time.sleep(3)  # start-up is over
    processes = home.processes()
    before = worked(processes)
    time.sleep(WATCHED)
    cores = (worked(processes) - before) / WATCHED
    opened = [descriptors(process.pid) for process in processes]
    return AtRest(
        cores,
        sum(proportional_mb(process.pid) for process in processes),
        len(processes),
        sum(each.count("anon_inode:inotify") for each in opened),
        sum(map(len, opened)),
        max(map(len, opened)),
    )


def worked(processes: list[psutil.Process]) -> float:
    """Seconds of CPU, finer than the ticks that psutil counts: most of them work less than one."""
    threads = [
        thread for process in processes for thread in Path(f"/proc/{process.pid}/task").glob("*/schedstat")
    ]
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


def descriptors(pid: int) -> list[str]:
    found = []
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found.append(str(fd.readlink()))
    return found


def row(home: Home, number: int, submits: list[float]) -> str:
    rest = at_rest(home)
    listed, states = home.states()
    if states != ["RUNNING"] * number:
        sys.exit(f"of {number} topologies, list says: {sorted(states)}")
    asked, _ = home.run("status", f"many-{number}")
    return (
        f"{number:>10} | {statistics.median(submits):.2f} ({max(submits):.2f}) | "
        f"{listed:.2f} | {asked:.2f} | {rest.cores:.2f} | {rest.memory:,.0f} | "
        f"{rest.processes} | {rest.inotify} | {rest.descriptors:,} ({rest.most})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("number", type=int, nargs="?", default=10)
    parser.add_argument("--step", type=int, default=10)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    instances = Path("/proc/sys/fs/inotify/max_user_instances").read_text().strip()
    print(f"{machine()}; {instances} inotify instances, {DESCRIPTORS} descriptors")
    print(HEADERS, flush=True)
    with new_home() as home:
        submits: list[float] = []
        for number in range(1, options.number + 1):
            submits.append(home.run("submit", str(TOPOLOGY), "--name", f"many-{number}")[0])
            if number % options.step == 0 or number == options.number:
                print(row(home, number, submits), flush=True)
                submits = []
        killed, _ = home.run("kill", "--all")
        left = len(home.processes())
    print(f"kill --all: {killed:.1f} s for {options.number} topologies; processes left: {left}")


if __name__ == "__main__":
    main()
