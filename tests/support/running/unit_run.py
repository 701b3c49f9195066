"""A run of topologies/units.py in one cell of the matrix, and the account of its numbers."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import struct
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from itertools import chain, pairwise
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from support.running.engine import TOPOLOGIES, Engine, wait_until
from support.running.watching import Watching

TOPOLOGY = "Units"
SPLITS, KEYS = 4, 97
#: seconds in which a million numbers come on a busy machine
PATIENCE = 600
ENTRY = struct.Struct("<IIII")


class UnitCell(NamedTuple):
    """One cell of the matrix."""

    #: what the spout emits by, and what the bolts take and emit by: rows, batches, columns
    send: str
    take: str
    #: topology.fuse
    fuse: str
    #: transport.local
    links: str

    def __str__(self) -> str:
        return f"{self.send}-{self.take}-{self.fuse}-{self.links}"

    @property
    def settings(self) -> tuple[str, str]:
        return f"topology.fuse={self.fuse}", f"transport.local={self.links}"


class Entry(NamedTuple):
    """A number that has arrived, and the tasks that it came through."""

    number: int
    relay: int
    counter: int
    #: how many of its key had come to the counter by then
    seen: int


class Load(NamedTuple):
    """What the spouts emit, and for how long they wait for acks."""

    #: numbers in all, if the run does not take longer than that
    least: int
    #: numbers a second while the run is disturbed
    rate: int
    #: numbers of a batch, and so how many a spout may have noted that it has not emitted
    burst: int
    timeout: str


class UnitRun:
    """One running topology; numbers flow until it is over."""

    def __init__(self, engine: Engine, folder: Path, cell: UnitCell, mode: str, load: Load) -> None:
        self._engine = engine
        self._folder = folder
        self._fused = cell.fuse == "container"
        self._mode = mode
        #: shots after which numbers may have been noted and not emitted
        self.notes = 0
        #: how far each split had come when the current number of counters was in force
        self._scaled_at = [0] * SPLITS
        (folder / "progress").write_bytes(bytes(SPLITS * 2 * 8))
        arguments = (cell.send, cell.take, mode, *map(str, load[:3]), str(folder))
        more = ("checkpoint.interval=500ms", "container.restart_reset=100ms")
        settings = [*cell.settings, *more, f"topology.message.timeout.secs={load.timeout}"]
        chosen = [word for each in settings for word in ("--set", each)]
        engine.ok("submit", str(TOPOLOGIES / "units.py"), *arguments, *chosen, timeout=120)
        self._watching = Watching(engine, TOPOLOGY)
        self.flow("the beginning")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._watching.close()

    def written(self) -> int:
        """Bytes that have arrived for good."""
        return sum(path.stat().st_size for path in self._paths())

    def _paths(self) -> list[Path]:
        return sorted([*self._folder.glob("ledger-*"), *self._folder.glob("out/[!.]*")])

    def flow(self, since: str) -> None:
        """Wait until everybody runs, and more numbers have arrived after that."""
        watching = self._watching

        def all_run() -> bool:
            status = watching.status()  # which may be older than a kill
            alive = {process.pid for process in self._engine.processes()}
            return status.state == "RUNNING" and alive >= {one.pid for one in status.instances}

        wait_until(all_run, 90, f"all run after {since}", watching.detail)
        before = self.written()
        wait_until(lambda: self.written() > before, 90, f"numbers flow after {since}", watching.detail)

    def scale(self, counters: int) -> None:
        """Change how many count, under load."""
        self._engine.ok("update", TOPOLOGY, f"count={counters}", "--yes", timeout=110)
        self._scaled_at = self._emitted()
        self.flow(f"count={counters}")

    def roles(self) -> list[str]:
        """Everybody whose death may concern a number; and the master, which knows the losses at most once."""
        tasks = ["tasks"] if self._fused else ["numbers", "relay", "count", "sink"]
        master = ["topology-master"] if self._mode != "ATMOST_ONCE" else []
        return [*tasks, "stream-manager", "executor", *master]

    def kill_one(self, role: str, dice: random.Random) -> None:
        """Kill -9 one of a role at a random moment, and wait until numbers flow again."""
        watching = self._watching
        time.sleep(dice.uniform(0.0, 0.6))
        candidates = {process.pid for process in watching.processes(role)}
        victim = dice.choice(sorted(candidates))
        begun = time.monotonic()
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
        self.notes += role in ("numbers", "tasks", "executor")

        def is_replaced() -> bool:
            now = {process.pid for process in watching.processes(role)}
            return victim not in now and len(now) >= len(candidates)

        wait_until(is_replaced, 90, f"a successor of a {role}", watching.detail)
        self.flow(role)
        print(f"{role}: flows after {time.monotonic() - begun:.2f} s")

    def lost(self) -> tuple[int, int]:
        """The interval of what was lost, as the engine reports it."""
        status = self._watching.status()
        return status.lost_min, status.lost_max

    def finish(self) -> None:
        """Let the numbers end, and wait until all of them have been processed."""
        (self._folder / "over").touch()
        watching = self._watching
        wait_until(lambda: watching.status().state == "FINISHED", PATIENCE, "it is FINISHED", watching.detail)

    def sent(self) -> set[int]:
        """All numbers."""
        ends = [int((self._folder / f"end-{split}").read_text()) for split in range(SPLITS)]
        return set(chain.from_iterable(range(split, end * SPLITS, SPLITS) for split, end in enumerate(ends)))

    def arrived(self) -> list[Entry]:
        """All that has arrived, file by file, each in its order."""
        return [entry for path in self._paths() for entry in _entries(path)]

    def overtakings(self) -> int:
        """Numbers that came behind a later one of their split on the same way, whoever was killed.

        Rows that wait while others come to count go to the new owners of their keys: each key keeps its order
        then, and all keys together only what was emitted since. What is emitted again may come at any time.
        """
        found = 0
        for path in self._paths():
            ways: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
            for number, relay, counter, _ in _entries(path):
                position, split = divmod(number, SPLITS)
                ways[split, relay, counter, number % KEYS].append(number)
                if position >= self._scaled_at[split]:
                    ways[split, relay, counter].append(number)
            # noted before they are emitted, so read when the entries have been
            found += _backwards(ways.values(), self._again())
        return found

    def _again(self) -> set[int]:
        """Numbers that were emitted more than once, where acks are awaited."""
        lines = (self._folder / "again").read_text().splitlines()
        spans = [map(int, line.split()) for line in lines]
        return {place * SPLITS + split for split, begin, end in spans for place in range(begin, end)}

    def _emitted(self) -> list[int]:
        """The position in each split before which all numbers may have been emitted."""
        noted = (self._folder / "progress").read_bytes()
        return [emitted for emitted, _ in struct.iter_unpack("<QQ", noted)]

    def end(self) -> None:
        """Kill it; nothing may be left."""
        self._engine.ok("kill", TOPOLOGY)
        assert self._engine.leftovers() == []


def _entries(path: Path) -> Iterator[Entry]:
    """Of a ledger that grows, the entries that are whole; a file of a sink is whole."""
    data = path.read_bytes()
    if path.name.startswith("ledger-"):
        yield from map(Entry._make, ENTRY.iter_unpack(data[: len(data) // ENTRY.size * ENTRY.size]))
    else:
        yield from (Entry(*map(int, line.split(b"\t"))) for line in data.splitlines())


def _backwards(ways: Iterable[list[int]], left_out: Collection[int] = ()) -> int:
    """How often a number is not above the one before it on its way."""
    once = [[number for number in way if number not in left_out] for way in ways]
    return sum(earlier >= later for way in once for earlier, later in pairwise(way))


def overtakings_by_key(entries: list[Entry]) -> int:
    """Numbers of which a later one of their key, split and relay was counted before, whichever task counted.

    Right effectively once, where what is emitted again has not been counted.
    """
    ways: defaultdict[tuple[int, int, int], list[int]] = defaultdict(list)
    for number, relay, _, _ in sorted(entries, key=lambda entry: entry.seen):
        ways[number % KEYS, number % SPLITS, relay].append(number)
    return _backwards(ways.values())


def seen_by_key(entries: list[Entry]) -> dict[int, list[int]]:
    """What counters have told of each key, in order."""
    found: dict[int, list[int]] = {}
    for entry in entries:
        found.setdefault(entry.number % KEYS, []).append(entry.seen)
    return {key: sorted(told) for key, told in found.items()}


def numbers_by_key(numbers: set[int]) -> dict[int, list[int]]:
    """What counters tell of each key if every number counts once."""
    return {key: list(range(1, count + 1)) for key, count in Counter(n % KEYS for n in numbers).items()}
