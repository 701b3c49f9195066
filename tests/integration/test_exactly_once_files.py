"""Effectively once, what sinks have committed is the same with processes killed as without, byte for byte."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from support.faults.fire import SEED, plays
from support.running.engine import TOPOLOGIES, Engine, wait_until

KILLS = int(os.environ.get("CHAOS_KILLS", "3"))
#: beside the tasks, the processes whose death may concern a tuple or a checkpoint
OTHERS = ["stream-manager", "executor", "topology-master"]
TOPOLOGY = "ExactlyOnce"
#: topology.fuse and transport.local; the others in `make chaos`
SURROUNDINGS = [("none", "unix")]
if "CHAOS_KILLS" in os.environ:
    SURROUNDINGS += [("container", "unix"), ("none", "zmq")]
#: of data for each kill, so that it flows while somebody is killed; when all are over, the rest comes at once
SECONDS = 8

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240 + 40 * KILLS)]

#: what is committed by now
Reader = Callable[[], Counter[bytes]]


def expected(total: int) -> Counter[bytes]:
    """The lines of a run in which every number is counted once."""
    lines = Counter(b"number\t%d\t1" % number for number in range(total))
    lines.update(b"remainder\t%d\t%d" % (number % 97, number // 97 + 1) for number in range(total))
    return lines


def lines_in(folder: Path) -> Counter[bytes]:
    """All lines of all files that can be seen, each of which must be whole."""
    found: Counter[bytes] = Counter()
    for path in folder.glob("[!.]*"):
        data = path.read_bytes()
        assert data.endswith(b"\n"), f"{path} is not whole"
        found.update(data.splitlines())
    return found


def count_lines(folder: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in folder.glob("[!.]*"))


def rows_in(database: Path) -> Counter[bytes]:
    with contextlib.closing(sqlite3.connect(database, timeout=60)) as connection:
        rows = connection.execute("SELECT kind, value, seen FROM seen")
        return Counter(f"{kind}\t{value}\t{seen}".encode() for kind, value, seen in rows)


def count_rows(database: Path) -> int:
    with contextlib.closing(sqlite3.connect(database, timeout=60)) as connection:
        return int(connection.execute("SELECT COUNT(*) FROM seen").fetchone()[0])


class Source:
    """One run of the topology."""

    def __init__(
        self,
        engine: Engine,
        kind: str,
        target: Path,
        total: int,
        rate: int,
        surroundings: tuple[str, str] = ("none", "unix"),
    ) -> None:
        self.engine = engine
        self.total = total
        self.read: Reader = lambda: lines_in(target) if kind == "files" else rows_in(target)
        #: lines or rows that are committed
        self.count: Callable[[], int] = lambda: count_lines(target) if kind == "files" else count_rows(target)
        self._hurry = Path(f"{target}.hurry")
        submitted = str(TOPOLOGIES / "exactly_once.py"), kind, str(target), str(total), str(rate)
        fuse, links = surroundings
        self._roles = (["tasks"] if fuse == "container" else ["numbers", "relay", "count", "sink"]) + OTHERS
        chosen = ("--set", f"topology.fuse={fuse}", "--set", f"transport.local={links}")
        engine.ok("submit", *submitted, "--set", "container.restart_reset=100ms", *chosen, timeout=110)

    def status(self) -> dict[str, int]:
        found: dict[str, int] = self.engine.status(TOPOLOGY)["checkpoints"]
        return found

    def flows(self, past: int) -> bool:
        """Whether more has been committed than this, or all there is."""
        count = self.count()
        return count > past or count == 2 * self.total

    def finish(self) -> Counter[bytes]:
        """Let the rest come at once; wait for all lines, and whether more of them come."""
        self._hurry.touch()
        wait_until(
            lambda: self.count() >= 2 * self.total,
            120,
            "all is committed",
            lambda: f"{self.count()} of {2 * self.total}\n{self.status()}\n{self.engine.log_tails()}",
        )
        time.sleep(1.5)  # three checkpoints
        found = self.read()
        self.engine.ok("kill", TOPOLOGY)
        assert self.engine.leftovers() == []
        return found

    def _playing(self, role: str) -> list[int]:
        """Processes with this role, by id. Waits while there are none: the last kill may have ended them."""
        found: list[int] = []

        def is_there() -> bool:
            for process in self.engine.processes():
                with contextlib.suppress(psutil.NoSuchProcess):
                    if plays(role, process):
                        found.append(process.pid)
            return bool(found)

        wait_until(is_there, 60, f"a process that is {role}", self.engine.log_tails)
        return found

    def kill_one(self, dice: random.Random) -> None:
        """Kill -9 somebody at a random moment, and wait until data flows again."""
        role = dice.choice(self._roles)
        time.sleep(dice.uniform(0.0, 1.0))
        victim = dice.choice(self._playing(role))
        committed, begun = self.count(), time.monotonic()
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
        wait_until(lambda: self.flows(committed), 90, f"data flows after {role}", self.engine.log_tails)
        print(f"{role}: committed on after {time.monotonic() - begun:.2f} s")


@pytest.mark.parametrize("surroundings", SURROUNDINGS, ids="-".join)
@pytest.mark.parametrize(("kind", "total"), [("files", 5_000 * KILLS), ("rows", 2_500 * KILLS)])
def test_the_committed_output_is_the_same_whoever_is_killed(
    engine: Engine, tmp_path: Path, kind: str, total: int, surroundings: tuple[str, str]
) -> None:
    print(f"{kind} {surroundings}: seed {SEED}, {KILLS} kills")
    dice = random.Random(f"{kind} {SEED}")
    undisturbed = Source(engine, kind, tmp_path / "undisturbed", total, total).finish()

    source = Source(engine, kind, tmp_path / "under_fire", total, total // (SECONDS * KILLS), surroundings)
    for _ in range(KILLS):
        source.kill_one(dice)
    restores = source.status()["run"] - 1
    under_fire = source.finish()

    assert undisturbed == expected(total)
    assert under_fire == undisturbed
    print(f"{restores} restores")
    assert restores > 0, "no kill made anybody go back"


def test_a_sink_that_is_scaled_down_and_up_leaves_no_line_out(engine: Engine, tmp_path: Path) -> None:
    """What the tasks that end have not committed, another commits; also if somebody is killed after that."""
    print(f"seed {SEED}")
    dice = random.Random(f"scaled {SEED}")
    source = Source(engine, "files", tmp_path / "out", 20_000, 400)
    wait_until(lambda: source.flows(0), 60, "data flows", engine.log_tails)
    for tasks in (1, 3, 1):
        assert source.count() < 2 * source.total, "it is over before the last update"
        engine.ok("update", TOPOLOGY, f"sink={tasks}", "--yes", timeout=110)
    source.kill_one(dice)
    assert source.finish() == expected(20_000)
