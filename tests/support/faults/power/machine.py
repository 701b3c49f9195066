"""A machine that a topology runs on, with a disk of its own, and a plug that is pulled."""

from __future__ import annotations

import contextlib
import random
import shutil
import sqlite3
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import psutil
from support.faults.power.synced_disk import SyncedDisk
from support.faults.provocations import Provocation
from support.faults.step_crashes import StepCrashes
from support.running.engine import TOPOLOGIES, Engine, wait_until
from support.running.watching import Watching

TOPOLOGY = "Power"
#: numbers in a second
RATE = 100
SPLITS = 4
#: how long a step may take to be reached, and the topology to go on
PATIENCE = 60.0
SETTINGS = ("--set", "container.restart_reset=100ms", "--set", "container.restart_attempts=0")
#: from one to the other and back: always one task comes and one retires
SMALL, LARGE = {"count": 2, "relay": 2}, {"count": 3, "relay": 1}
#: positions of each split that come after all cuts
REST = 500


class Machine:
    """Holds one topology, whose files and sinks are all on its disk."""

    def __init__(self, folder: Path, library: Path) -> None:
        (folder / "disk").mkdir()
        self.disk = SyncedDisk(folder / "disk", folder / "notes", library)
        self.crashes = StepCrashes(folder / "crashes")
        self.engine = Engine(self.disk.folder / "home")
        self.engine.environment |= {"PYTHONPATH": self.crashes.pythonpath(), **self.disk.environment()}
        self._end = folder / "end"
        self._out = self.disk.folder / "out"
        self._read: dict[str, list[tuple[str, int, int]]] = {}

    def submit(self) -> int:
        """The exit code."""
        file, arguments = str(TOPOLOGIES / "power.py"), (str(self._out), str(self._end), str(RATE))
        return self.engine.run("submit", file, *arguments, *SETTINGS, timeout=110).returncode

    def pull_the_plug(self, dice: random.Random | None = None) -> None:
        """All processes are gone, and what was not synced; of a step that was armed, from there on.

        Sockets are in a folder that a system empties when it starts.
        """
        sockets = self.engine.home / "topologies" / TOPOLOGY / "sockets"
        place = sockets.readlink() if sockets.is_symlink() else None
        wait_until(self._end_all, PATIENCE, "all processes are gone")
        if place is not None:
            shutil.rmtree(place, ignore_errors=True)
        self.disk.cut(dice)
        self._read.clear()

    def pull_it_at(self, step: str, provocation: Provocation, dice: random.Random | None = None) -> None:
        """… while the topology runs."""
        with Watching(self.engine, TOPOLOGY) as watching:
            watching.wholly()
            self.crashes.arm_cut(step)
            for earlier in provocation.earlier:
                self.crashes.arm(earlier)
            match provocation.how:
                case "kill a counter":
                    watching.kill("count[1]")
                case "kill the master":
                    watching.kill("topology-master")
                case "update":
                    now = watching.plan().logical.parallelism()
                    wanted = [f"{name}={count}" for name, count in (SMALL, LARGE)[now["count"] == 2].items()]
                    self.engine.ok("update", TOPOLOGY, *wanted, "--no-wait", timeout=PATIENCE)
            self.crashes.wait_hit(step, PATIENCE, watching.detail)
        self.crashes.disarm()
        self.pull_the_plug(dice)

    def start_again(self, step: str) -> None:
        """As the unit in docs/operations.md does. It goes on: nothing is missing, nothing is there twice."""
        begun, known = time.monotonic(), self.numbers()
        expected = {
            number for newest in _newest(known) for number in range(newest % SPLITS, newest + 1, SPLITS)
        }
        self.engine.ok("status", TOPOLOGY, timeout=PATIENCE)

        def goes_on() -> bool:
            numbers = self.numbers()
            twice = [number for number, times in numbers.items() if times > 1]
            assert not twice, f"{step}: twice in the files: {twice[:5]}"
            return len(numbers) > len(expected) and expected <= numbers.keys()

        what = f"{step}: all of the {len(expected)} numbers up to the last ones, and more"
        wait_until(goes_on, PATIENCE, what, self._detail)
        print(f"{step}: {len(known)} committed, goes on after {time.monotonic() - begun:.1f} s")

    def finish(self) -> None:
        """Let the numbers end, and hold both sinks against what they should have."""
        positions = max(self.numbers()) // SPLITS + REST
        self._end.write_text(str(positions))
        total = SPLITS * positions
        wait_until(lambda: self._count() >= 4 * total, 120, "all is committed", self._detail)
        expected = Counter(("number", number, 1) for number in range(total))
        expected.update(("remainder", number % 97, number // 97 + 1) for number in range(total))
        for what, found in (("lines", self._lines()), ("rows", self._rows())):
            missing, more = expected - found, found - expected
            assert not missing, f"{what}: {missing.most_common(5)}"
            assert not more, f"{what}: {more.most_common(5)}"
        self.engine.ok("kill", TOPOLOGY)
        assert self.engine.leftovers() == []

    def numbers(self) -> Counter[int]:
        """Those in committed files."""
        return Counter(
            {value: times for (kind, value, _), times in self._lines().items() if kind == "number"}
        )

    def _lines(self) -> Counter[tuple[str, int, int]]:
        found: Counter[tuple[str, int, int]] = Counter()
        for path in (self._out / "lines").glob("[!.]*"):
            if path.name not in self._read:  # its content never changes
                fields = (line.split("\t") for line in path.read_text().splitlines())
                self._read[path.name] = [(kind, int(value), int(seen)) for kind, value, seen in fields]
            found.update(self._read[path.name])
        return found

    def _rows(self) -> Counter[tuple[str, int, int]]:
        with contextlib.closing(sqlite3.connect(self._out / "rows.db", timeout=60)) as connection:
            return Counter(connection.execute("SELECT kind, value, seen FROM seen"))

    def _count(self) -> int:
        """Rows in both."""
        return self._lines().total() + self._rows().total()

    def _end_all(self) -> bool:
        processes = self.engine.processes()
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        return not processes

    def _detail(self) -> str:
        return f"\n{self.engine.run('status', TOPOLOGY).stdout}\n{self.engine.log_tails()}"


def _newest(numbers: Iterable[int]) -> list[int]:
    """The last number of each split that there is."""
    splits = [[number for number in numbers if number % SPLITS == split] for split in range(SPLITS)]
    return [max(split) for split in splits if split]
