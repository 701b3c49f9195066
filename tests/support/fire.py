"""A topology under fire: who dies, how long until everything flows again, and what became of every number."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import struct
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import psutil
from support.engine import TOPOLOGIES, Engine, wait_until

ENTRY = struct.Struct("<IIII")
PROGRESS = struct.Struct("<QQQQQ")
TOPOLOGY = "UnderFire"

#: for tests of who is not in the way: a busy machine alone must not make anything time out
PATIENT = "topology.message.timeout.secs=60"

#: kills in a cell, and where their dice begin; `make chaos` asks for more (HERONPY_… would be a setting)
KILLS = int(os.environ.get("CHAOS_KILLS", "2"))
SEED = os.environ.get("CHAOS_SEED", "1")

#: seconds that the source rests after every 256 numbers; with more kills it does not, and nobody has time
REST = 0.01 if KILLS <= 2 else 0.0

_MODULES = {"executor": "heronpy.container.executor", "scheduler": "heronpy.container.scheduler_host"}


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
    unexpected: int
    repeated: int


class Fire:
    """One running topology, and the means to hurt it."""

    def __init__(
        self, engine: Engine, folder: Path, reliability: str, cell: str, *settings: str, rest: float = REST
    ) -> None:
        print(f"{cell}: seed {SEED}, {KILLS} kills")
        self.engine = engine
        self.folder = folder
        self.dice = random.Random(f"{cell} {SEED}")
        #: seconds from each kill until all paths flowed again
        self.recoveries: list[float] = []
        chosen = [word for each in ("container.restart_reset=100ms", *settings) for word in ("--set", each)]
        arguments = (reliability, str(folder), str(rest))
        engine.ok("submit", str(TOPOLOGIES / "under_fire.py"), *arguments, *chosen)
        self.launch_file = engine.home / "topologies" / TOPOLOGY / "launch.json"
        self.sockets = Path(json.loads(self.launch_file.read_text())["sockets"])
        wait_until(lambda: self.flows({}), 60, "every path flows", engine.log_tails)

    def victims(self, role: str) -> list[psutil.Process]:
        """All processes of a role; of the executors, those of containers with instances."""
        found = []
        for process in self.engine.processes():
            with contextlib.suppress(psutil.NoSuchProcess):  # zombies as well
                if plays(role, process):
                    found.append(process)
        return found

    def _others(self, role: str, dead: Sequence[int]) -> list[psutil.Process]:
        """Who plays a role beside those who were killed, and may take a moment to die."""
        return [process for process in self.victims(role) if process.pid not in dead]

    def kill(self, *roles: str) -> list[int]:
        """Kill -9 one process of each role, as nearly at once as can be."""
        chosen: list[psutil.Process] = []
        for role in roles:
            chosen.append(self.dice.choice([p for p in self.victims(role) if p not in chosen]))
        self.pause()
        for process in chosen:
            os.kill(process.pid, signal.SIGKILL)
        return [process.pid for process in chosen]

    def pause(self) -> None:
        """A random moment of ordinary life."""
        time.sleep(self.dice.uniform(0.1, 0.6))

    def sizes(self) -> dict[Path, int]:
        return {path: path.stat().st_size // ENTRY.size * ENTRY.size for path in self.folder.glob("ledger-*")}

    def flows(self, since: dict[Path, int]) -> bool:
        """Whether every ledger has heard from every relay, of those that live now, behind these places."""
        alive: dict[int, bool] = {}
        heard = set()
        for path in self.sizes():
            for _, relay, relay_pid, ledger_pid in self._entries(path, since.get(path, 0)):
                for pid in (relay_pid, ledger_pid):
                    if pid not in alive:
                        alive[pid] = psutil.pid_exists(pid)
                if alive[relay_pid] and alive[ledger_pid]:
                    heard.add((relay, path))
        return len(heard) == 4

    def recover(self, dead: Sequence[int], since: dict[Path, int], begun: float) -> None:
        """Wait until the dead have successors and all paths flow."""
        wait_until(lambda: self.flows(since), 60, "every path flows again", self.engine.log_tails)
        self.recoveries.append(time.monotonic() - begun)
        wait_until(lambda: not any(map(psutil.pid_exists, dead)), 30, "the dead are reaped")

    def shoot(self, *roles: str) -> int:
        """Kill one of each role and wait for recovery; tuples that arrived before all had successors."""
        # While it starts, the scheduler's process is two for a moment.
        expected = {role: 1 if role == "scheduler" else len(self.victims(role)) for role in roles}
        dead = self.kill(*roles)
        begun, since = time.monotonic(), self.sizes()
        wait_until(
            lambda: all(len(self._others(role, dead)) >= count for role, count in expected.items()),
            60,
            f"successors of {roles}",
            self.engine.log_tails,
        )
        meanwhile = sum(self.sizes().values()) - sum(since.values())
        self.recover(dead, since, begun)
        return meanwhile // ENTRY.size

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

    def verdict(self) -> Verdict:
        emitted = self.progress().emitted
        seen = bytearray(emitted)  # a flag for each number: a run of minutes has millions
        total = unexpected = 0
        for path in self.folder.glob("ledger-*"):
            for number, *_ in self._entries(path, 0):
                total += 1
                if number < emitted:
                    seen[number] = 1
                else:
                    unexpected += 1
        arrived = sum(seen)
        return Verdict(emitted - arrived, unexpected, total - unexpected - arrived)

    def end(self) -> None:
        """Kill the topology; nothing may be left of it."""
        print("every path flowed again after", ", ".join(f"{each:.2f}" for each in self.recoveries), "s")
        self.engine.ok("kill", TOPOLOGY)
        left = self.engine.leftovers()
        assert left == [], left
        assert not self.sockets.exists()

    @staticmethod
    def _entries(path: Path, start: int) -> Iterator[tuple[int, int, int, int]]:
        with path.open("rb") as file:
            file.seek(start)
            data = file.read()
        yield from ENTRY.iter_unpack(data[: len(data) // ENTRY.size * ENTRY.size])


def plays(role: str, process: psutil.Process) -> bool:
    """Whether a process has this role; of the executors, those of containers with instances count."""
    if role not in _MODULES:
        return process.name().startswith(role)
    command = process.cmdline()
    return _MODULES[role] in command and (role != "executor" or command[-1] != "0")
