"""One schedule of power cuts, crashes, full and slow disks and clocks that jump, from seed to verdict."""

from __future__ import annotations

import contextlib
import os
import random
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec
from support.simulation.disk_calls import DiskCalls
from support.simulation.disk_machine import TOPOLOGY, Machine
from support.tasks.puppets import Died

from heronpy.kernel.checkpoints.lookup import choose, find_checkpoints
from heronpy.kernel.errors import HeronError
from heronpy.kernel.plugin.opening import open_checkpoint_store

FAULTS: Final = ("cut", "cut", "cut_some", "crash", "full", "slow")
TESTS: Final = "tests/simulation/test_disks_and_clocks.py"
#: where files are in memory: what makes a folder a disk is the journal
MEMORY: Final = "/dev/shm"
#: turns that a fault has, and that all may take when the faults are over
TURNS, PATIENCE = 25, 80
#: numbers that come with each fault, and after all of them
NUMBERS: Final = 15
#: by how many seconds a time of day may be wrong
JUMPS: Final = (0.0, 1.0, -1.0, 120.0, -120.0, 1e8, -1e8)


class DiskOutcome(msgspec.Struct):
    """What became of one schedule."""

    seed: int
    #: of the engine that met it; the real one has none
    mutant: str = ""
    faults: list[str] = []
    failures: list[str] = []
    #: a bit of the newest checkpoint was changed: results may be there twice if that is told
    damaged: bool = False
    fell_back: bool = False
    refused: int = 0
    numbers: int = 0

    def __str__(self) -> str:
        again = f"SIMULATION_SEED={self.seed} SIMULATION_SCHEDULES=10 pytest {TESTS}"
        told = f"disk seed {self.seed} ({', '.join(self.faults)}): {'; '.join(self.failures)}"
        return told if self.mutant else f"{told}\nagain: {again}"


class Share(msgspec.Struct):
    """What a worker is asked for."""

    library: str
    #: schedules for the engine as it is
    seeds: list[int]
    #: … and for mutants of it, by their names: until one shows it
    mutants: dict[str, list[int]]


def run_disk_schedules(
    library: Path, seeds: Iterable[int], mutants: Mapping[str, list[int]]
) -> list[DiskOutcome]:
    """In a process that keeps a journal of its disk. Of a mutant, the last outcome only."""
    done = subprocess.run(
        [sys.executable, "-m", "support.simulation.disk_share"],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "PYTHONHASHSEED": "1",
            "LD_PRELOAD": str(library),
        },
        input=msgspec.json.encode(Share(str(library), list(seeds), dict(mutants))),
        stdout=subprocess.PIPE,
        check=True,
    )
    return msgspec.json.decode(done.stdout, type=list[DiskOutcome])


def run_disk_schedule(seed: int, library: Path) -> DiskOutcome:
    folder = Path(tempfile.mkdtemp(prefix="disk", dir=MEMORY if os.access(MEMORY, os.W_OK) else None))
    run, names = _Run(seed, folder, library), random.Random(seed)
    real = time.time, time.time_ns, secrets.token_hex
    time.time = lambda: real[0]() + run.wrong
    time.time_ns = lambda: int(time.time() * 1e9)
    secrets.token_hex = lambda nbytes=None: names.randbytes(nbytes or 16).hex()
    try:
        return run.play()
    finally:
        time.time, time.time_ns, secrets.token_hex = real
        shutil.rmtree(folder, ignore_errors=True)


class _Run:
    def __init__(self, seed: int, folder: Path, library: Path) -> None:
        self.dice = random.Random(seed)
        #: by how much the time of day is
        self.wrong = 0.0
        self._calls = DiskCalls(self.dice)
        self._machine = Machine(folder, library, self.dice, self._calls)
        self._outcome = DiskOutcome(seed)

    def play(self) -> DiskOutcome:
        try:
            self._machine.submit()
            self._live_through()
        except Died:
            raise
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            self._outcome.failures.append(f"error: {error!r} in {where.filename}:{where.lineno}")
        finally:
            self._machine.end()
        self._outcome.failures += self._machine.complaints[:3]
        self._outcome.refused = self._calls.refused
        return self._outcome

    def _live_through(self) -> None:
        machine, dice = self._machine, self.dice
        running = False
        for _ in range(dice.choice((1, 2, 3))):
            fault = dice.choice(FAULTS)
            self._outcome.faults.append(fault)
            machine.limit += NUMBERS
            running = self._meet(fault, running)
            if not running:
                self.wrong = dice.choice(JUMPS)
        machine.limit += NUMBERS
        self._go_on(PATIENCE, running, until_done=True)
        self._judge()

    def _meet(self, fault: str, running: bool) -> bool:
        """Whether the processes live on."""
        calls, machine, dice = self._calls, self._machine, self.dice
        if fault in ("full", "slow"):
            calls.full_until = calls.made + dice.randrange(5, 300) if fault == "full" else 0
            calls.edge = dice.random() < 0.5
            calls.cost = dice.choice((0.01, 0.5, 5.0)) if fault == "slow" else 0.0
            running = self._go_on(TURNS, running)
            calls.full_until, calls.cost = 0, 0.0
            return running
        calls.die_at = calls.made + dice.randrange(1, dice.choice((10, 100, 800)))
        with contextlib.suppress(Died):
            self._go_on(TURNS, running)
        calls.die_at = 0
        if fault == "crash":
            machine.end()
            return False
        machine.disk.cut(dice if fault == "cut_some" else None)
        machine.end()
        if not self._outcome.damaged and dice.random() < 0.1:
            self._outcome.damaged = machine.damage_newest()
        return False

    def _go_on(self, turns: int, running: bool, *, until_done: bool = False) -> bool:
        """What ends with an error is started again, as an executor does."""
        machine = self._machine
        for _ in range(turns):
            if self.dice.random() < 0.05:
                self.wrong = self.dice.choice(JUMPS)
            refused = self._calls.refused
            try:
                if not running:
                    machine.boot()
                    running = True
                machine.turn()
            except (HeronError, OSError):
                if self._calls.refused == refused and not self._outcome.damaged:
                    raise
                machine.end()
                running = False
            if until_done and running and machine.done:
                break
        return running

    def _judge(self) -> None:
        machine, outcome = self._machine, self._outcome
        expected = Counter(range(machine.limit))
        outcome.numbers, outcome.fell_back = machine.limit, bool(machine.fell_back)
        told = machine.coordinator.trouble if not machine.done else ""
        if outcome.damaged and told:
            return  # it stands still, and says so
        self._expect(machine.done, f"liveness: {told or 'not done'}")
        self._expect(outcome.damaged or not machine.fell_back, f"damage: {machine.fell_back}")
        for task, seen in machine.seen().items():
            lost, twice = expected - seen, seen - expected
            self._expect(not lost, f"lost: {lost.total()} numbers of task {task}")
            # a disk that damages what was committed makes it stand still: nothing comes twice by itself
            self._expect(not twice, f"twice: {twice.total()} of task {task}")
        store = open_checkpoint_store(machine.config)
        newest = choose(find_checkpoints(store, TOPOLOGY), TOPOLOGY, "").ref.id
        known = machine.master_state.node.complete[-1].id
        self._expect(newest >= known, f"newest: checkpoint {newest} is taken for newer than {known}")

    def _expect(self, held: bool, failure: str) -> None:
        if not held:
            self._outcome.failures.append(failure)
