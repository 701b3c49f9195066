"""A topology under fire: who dies, how long until everything flows again, and what became of every number."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import struct
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import psutil
from support.running.engine import TOPOLOGIES, Engine, wait_until

from heronpy.kernel.launch import TopologyLaunch

ENTRY = struct.Struct("<IIII")
PROGRESS = struct.Struct("<QQQQQ")
TOPOLOGY = "UnderFire"

#: for tests of who is not in the way: a busy machine alone must not make anything time out
PATIENT = "topology.message.timeout.secs=60"

#: kills in a cell, and where their dice begin; `make chaos` asks for more (HERONPY_… would be a setting)
KILLS = int(os.environ.get("CHAOS_KILLS", "2"))
SEED = os.environ.get("CHAOS_SEED", "1")

#: seconds that the source rests after every 256 numbers; with more kills it does not, and nobody has time
REST = 0.03 if KILLS <= 2 else 0.0
#: … where servers on the same machine need the time to come back
SLOWLY = 0.2

#: numbers in flight at a shot that must hit some: a source that rests has as many acks to read, and no more
QUEUE = 2048

#: shots of a cell on top of KILLS, while none has hit anything
MORE = 10

#: processes of each role while the topology is complete
CREW = {
    "numbers": 1,
    "relay": 2,
    "ledger": 2,
    "stream-manager": 2,
    "metrics-manager": 2,
    "executor": 2,
    "topology-master": 1,
    "tasks": 2,
    "scheduler": 1,
}

_MODULES = {
    "executor": "heronpy.container.executor.main",
    "scheduler": "heronpy.container.scheduler.scheduler_host",
}


class Progress(NamedTuple):
    """What the spout has noted."""

    emitted: int = 0
    acked: int = 0
    replayed: int = 0
    committed: int = 0
    done: int = 0


class Verdict(NamedTuple):
    """Every number that was emitted, held against every number that arrived."""

    lost: int
    #: entries with a number that was never emitted
    unexpected: int
    #: numbers that arrived more than once
    repeated: int


class Cell(NamedTuple):
    """What the shots at one set of roles did."""

    #: emitted since the cell before; what the shots hit is among them
    numbers: range
    #: tuples that arrived while a process was missing
    meanwhile: int
    #: numbers that were emitted again
    replayed: int


class Arrivals:
    """How often each number has arrived."""

    def __init__(self, emitted: int, arrived: Iterable[int]) -> None:
        self.emitted = emitted
        # 0, 1, or 2 for more, in a byte for each number: a run of minutes has millions.
        self._times = bytearray(emitted)
        self._unexpected = 0
        for number in arrived:
            if number < emitted:
                self._times[number] += self._times[number] < 2
            else:
                self._unexpected += 1

    def verdict(self, numbers: range) -> Verdict:
        """Of consecutive numbers; what is unexpected belongs to no range and is told with every one."""
        lost, repeated = (self._times.count(times, numbers.start, numbers.stop) for times in (0, 2))
        return Verdict(lost, self._unexpected, repeated)


class Fire:
    """One running topology, and the means to hurt it."""

    def __init__(
        self, engine: Engine, folder: Path, reliability: str, cell: str, *settings: str, rest: float = REST
    ) -> None:
        print(f"{cell}: seed {SEED}, {KILLS} kills")
        self.engine = engine
        self.folder = folder
        self._label = cell
        self._tracked = reliability == "ATLEAST_ONCE"
        self.dice = random.Random(f"{cell} {SEED}")
        #: by the roles that were shot at, joined by "+"
        self.cells: dict[str, Cell] = {}
        #: seconds from each kill until all paths flowed again
        self.recoveries: list[float] = []
        chosen = [word for each in ("container.restart_reset=100ms", *settings) for word in ("--set", each)]
        arguments = (reliability, str(folder), str(rest))
        engine.ok("submit", str(TOPOLOGIES / "under_fire.py"), *arguments, *chosen)
        self.launch_file = engine.home / "topologies" / TOPOLOGY / "launch.json"
        #: empty where containers are on other machines
        self.sockets = TopologyLaunch.read(self.launch_file).sockets
        wait_until(lambda: self.flows({}), 60, "every path flows", engine.log_tails)

    def victims(self, role: str) -> list[psutil.Process]:
        """All processes of a role; of the executors, those of containers with instances."""
        found = []
        for process in self.engine.processes():
            with contextlib.suppress(psutil.NoSuchProcess):  # zombies as well
                if plays(role, process):
                    found.append(process)
        return found

    def kill(self, *roles: str, hits: bool = False) -> list[int]:
        """Kill -9 one process of each role, as nearly at once as can be; with `hits`, into a queue."""
        chosen: list[psutil.Process] = []
        for role in roles:
            chosen.append(self.dice.choice([p for p in self.victims(role) if p not in chosen]))
        self.pause()
        with self._queue() if hits else contextlib.nullcontext():
            for process in chosen:
                os.kill(process.pid, signal.SIGKILL)
        return [process.pid for process in chosen]

    @contextlib.contextmanager
    def _queue(self) -> Iterator[None]:
        """Inside, the source takes no rest, and many numbers are on their way."""
        hurry = self.folder / "hurry"
        hurry.touch()

        def waiting() -> bool:
            progress = self.progress()
            return progress.emitted - progress.committed > QUEUE

        wait_until(waiting, 60, "a queue", lambda: f"{self.progress()}\n{self.engine.log_tails()}")
        try:
            yield
        finally:
            hurry.unlink()

    def pause(self) -> None:
        """A random moment of ordinary life."""
        time.sleep(self.dice.uniform(0.1, 0.6))

    def sizes(self) -> dict[Path, int]:
        return {path: path.stat().st_size // ENTRY.size * ENTRY.size for path in self.folder.glob("ledger-*")}

    def flows(self, since: dict[Path, int], first: int = 0) -> bool:
        """Whether every ledger has heard from every relay, of those that live now, behind these places.

        Numbers below `first` do not count.
        """
        alive: dict[int, bool] = {}
        heard = set()
        for path in self.sizes():
            for number, relay, relay_pid, ledger_pid in self._entries(path, since.get(path, 0)):
                for pid in (relay_pid, ledger_pid):
                    if pid not in alive:
                        alive[pid] = psutil.pid_exists(pid)
                if number >= first and alive[relay_pid] and alive[ledger_pid]:
                    heard.add((relay, path))
        return len(heard) == 4

    def shoot(self, *roles: str, hits: bool = False) -> int:
        """Kill one of each role and wait for recovery; tuples that arrived before all had successors."""
        shot, detail = "+".join(roles), self.engine.log_tails
        wait_until(lambda: self._complete(roles), 60, f"before a shot at {shot}: all of them run", detail)
        dead = self.kill(*roles, hits=hits)
        begun, since = time.monotonic(), self.sizes()
        wait_until(lambda: self._complete(roles, dead), 60, f"{shot} shot: successors", detail)
        meanwhile = sum(self.sizes().values()) - sum(since.values())
        wait_until(lambda: self.flows(since), 60, f"{shot} shot: every path flows again", detail)
        self.recoveries.append(time.monotonic() - begun)
        wait_until(lambda: not any(map(psutil.pid_exists, dead)), 30, f"{shot} shot: the dead are reaped")
        return meanwhile // ENTRY.size

    def _complete(self, roles: Sequence[str], dead: Sequence[int] = ()) -> bool:
        """Whether these roles have all their processes, beside the killed ones, which may take a moment to
        die."""
        return all(
            len([process for process in self.victims(role) if process.pid not in dead]) >= CREW[role]
            for role in set(roles)
        )

    def cell(self, *roles: str, hits: bool = False) -> Cell:
        """Shoot at these roles KILLS times and settle; with `hits`, at a queue, until something was hit.

        Everything settles between two cells, so what is replayed or lost in one is owed to its own shots.
        """
        name = "+".join(roles)
        self.dice = random.Random(f"{self._label} {name} {SEED}")
        first = max((cell.numbers.stop for cell in self.cells.values()), default=0)
        before, begun = self.progress().replayed, time.monotonic()
        meanwhile = sum(self.shoot(*roles, hits=hits) for _ in range(KILLS))
        stop = self._settle(name)
        for _ in range(MORE if hits else 0):
            if self.progress().replayed > before:
                break
            print(f"{name}: nothing was in flight, another shot")
            meanwhile += self.shoot(*roles, hits=hits)
            stop = self._settle(name)
        cell = Cell(range(first, stop), meanwhile, self.progress().replayed - before)
        print(f"{name}: {cell}, {time.monotonic() - begun:.1f} s")
        self.cells[name] = cell
        return cell

    def _settle(self, shot: str) -> int:
        """Wait until the fate of every number below the one that is returned is decided.

        With tracked trees it is acked. Without, every path has delivered a later number, and none overtakes.
        """
        stop, since = self.progress().emitted, self.sizes()
        wait_until(
            lambda: self.progress().committed >= stop if self._tracked else self.flows(since, stop),
            90,
            f"{shot} shot: all numbers below {stop} are settled",
            lambda: f"{self.progress()}\n{self.engine.log_tails()}",
        )
        return stop

    def progress(self) -> Progress:
        data = (self.folder / "progress").read_bytes() if (self.folder / "progress").exists() else b""
        return Progress(*PROGRESS.unpack(data)) if len(data) == PROGRESS.size else Progress()

    def drain(self) -> None:
        """Let the source end, and wait until nothing moves any more."""
        (self.folder / "stop").touch()
        wait_until(lambda: self.progress().done == 1, 90, "the source is done", lambda: str(self.progress()))
        sizes, quiet_since = self.sizes(), time.monotonic()
        while time.monotonic() - quiet_since < 2.5:
            time.sleep(0.1)
            if self.sizes() != sizes:
                sizes, quiet_since = self.sizes(), time.monotonic()

    def arrivals(self) -> Arrivals:
        arrived = (entry[0] for path in self.sizes() for entry in self._entries(path, 0))
        return Arrivals(self.progress().emitted, arrived)

    def verdict(self) -> Verdict:
        arrivals = self.arrivals()
        return arrivals.verdict(range(arrivals.emitted))

    def end(self) -> None:
        """Kill the topology; nothing may be left of it."""
        print("every path flowed again after", ", ".join(f"{each:.2f}" for each in self.recoveries), "s")
        self.engine.ok("kill", TOPOLOGY)
        left = self.engine.leftovers()
        assert left == [], left
        assert not self.sockets or not Path(self.sockets).exists()

    @staticmethod
    def _entries(path: Path, start: int) -> Iterator[tuple[int, int, int, int]]:
        with path.open("rb") as file:
            file.seek(start)
            data = file.read()
        yield from ENTRY.iter_unpack(data[: len(data) // ENTRY.size * ENTRY.size])


def in_turn(roles: Sequence[str], count: int, dice: random.Random) -> list[str]:
    """Who is shot at: each role has its turn before one comes again."""
    chosen: list[str] = []
    while len(chosen) < count:
        chosen += dice.sample(roles, len(roles))
    return chosen[:count]


def plays(role: str, process: psutil.Process) -> bool:
    """Whether a process has this role; of the executors, those of containers with instances count."""
    if role not in _MODULES:
        return process.name().startswith(role)
    command = process.cmdline()
    return _MODULES[role] in command and (role != "executor" or command[-1] != "0")
