"""What a snapshot of a large state costs: the longest stop, the whole time, and more for each tuple.

python -m bench.snapshots [--keys 1000000] [--rounds 5]
"""

from __future__ import annotations

import argparse
import gc
import queue
import random
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

from bench.arithmetic import alternate, machine, ratios, spread
from heronpy import Bolt, Grouping, Schema, Spout, Topology
from heronpy.instances.process.task_lifecycle import GC_THRESHOLDS
from heronpy.instances.saving.state import Saver, TaskState
from heronpy.kernel.config import Config
from heronpy.kernel.plugin.checkpoint_store import CheckpointStore
from heronpy.kernel.protocol import Stored
from heronpy.testing.placing import placed

TUPLES = 200_000


class Words(Spout):
    outputs = ["word"]


class Count(Bolt):
    pass


class WordCount(Topology):
    words = Words.spec()
    count = Count.spec(inputs={words: Grouping.fields("word")})


class Folder(CheckpointStore):
    """Files without fsync: how fast the disk is, is not the question here."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def initialize(self, config: Config) -> None:
        """Needs none."""

    def write(self, name: str, chunks: Iterable[bytes]) -> None:
        path = self._path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            file.writelines(chunks)

    def read(self, name: str) -> bytes:
        return (self._path / name).read_bytes()

    def names(self, prefix: str) -> list[str]:
        return [prefix]

    def delete(self, name: str) -> None:
        (self._path / name).unlink(missing_ok=True)


class Kept:
    """A task's state with integers as keys, and its saver."""

    def __init__(self, folder: Path, keys: int, *, deletions: int = 0) -> None:
        self.keys = keys
        plan, _ = placed(WordCount, 1)
        kept = TaskState(plan, plan.tasks_of("count")[0].id, Count)
        self.state: Any = kept.open()
        for key in range(keys + deletions):
            self.state[key] = key
        for key in range(keys, keys + deletions):
            del self.state[key]
        self._reports: queue.SimpleQueue[Stored] = queue.SimpleQueue()
        self.saver = Saver(
            kept,
            lambda: Folder(folder),
            "b/x",
            lambda stored, _: self._reports.put(stored),
            1,
            time.monotonic,
        )

    def snapshot(self, number: int, meanwhile: Callable[[], None] = lambda: None) -> tuple[float, float]:
        """The longest stop in CPU time, and the time until it is stored, in milliseconds."""
        begun, at = time.perf_counter(), time.thread_time()
        self.saver.snapshot(number, 0, {})
        stops = [time.thread_time() - at]
        more = True
        while more:
            meanwhile()
            at = time.thread_time()
            more = self.saver.work()
            stops.append(time.thread_time() - at)
        stored = self._reports.get()
        assert not stored.error, stored.error
        return 1000 * max(stops), 1000 * (time.perf_counter() - begun)

    def count(self) -> float:
        """CPU-nanoseconds per tuple, for words of all groups but not many."""
        state, words = self.state, random.Random(1).choices(range(min(self.keys, 1000)), k=TUPLES)
        begun = time.process_time()
        for word in words:
            state[word] = state.get(word, 0) + 1
        return (time.process_time() - begun) * 1e9 / len(words)


def stops(folder: Path, keys: int, rounds: int) -> None:
    for name, deletions in (("as it grew", 0), ("shrunk by half", keys)):
        kept = Kept(folder, keys, deletions=deletions)
        dice = random.Random(1)

        def busy(kept: Kept = kept, dice: random.Random = dice) -> None:
            for _ in range(100):
                kept.state[dice.randrange(kept.keys)] += 1

        found = []
        for number in range(1, rounds + 1):
            for key in range(0, keys, 100):
                kept.state[key] += 1  # so many that all groups have changed
            found.append(kept.snapshot(number, busy))
        kept.saver.close()
        longest, whole = ([pair[side] for pair in found] for side in (0, 1))
        print(
            f"{keys:,} keys, {name}: longest stop {spread(longest)} CPU-ms (goal: under 50),"
            f" whole {spread(whole)} ms"
        )


def stops_of_a_table(folder: Path, keys: int, rounds: int) -> None:
    words = pa.array([f"word{key}" for key in range(keys)])
    for name, changed in (("all groups changed", keys), ("one group changed", 1)):
        kept = Kept(folder, 0)
        table = kept.state.table("counts", keys=Schema(word=pa.string()), count="int64")
        table.add(words, {"count": 0})
        kept.snapshot(1)
        found = []
        for number in range(2, rounds + 2):
            table.add(words[:changed], {"count": 1})
            found.append(kept.snapshot(number))
        kept.saver.close()
        longest, whole = (spread([pair[side] for pair in found]) for side in (0, 1))
        print(f"a table of {keys:,} keys, {name}: longest stop {longest} CPU-ms, whole {whole} ms")


def per_tuple(folder: Path, rounds: int) -> None:
    plain, counted, frozen = Kept(folder, 100_000), Kept(folder, 100_000), Kept(folder, 100_000)
    counted.snapshot(1)
    frozen.saver.snapshot(1, 0, {})
    for name, kept in (("while changes are counted", counted), ("while a snapshot is taken", frozen)):
        slower, usual = alternate(rounds, kept.count, plain.count)
        more = [a - b for a, b in zip(slower, usual, strict=True)]
        print(
            f"CPU-nanoseconds per tuple {name} ({type(kept.state).__name__}): {spread(slower)},"
            f" more by {spread(more)}, ratio {spread(ratios(slower, usual))}"
        )
    for kept in (plain, counted, frozen):
        kept.saver.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(machine())
    gc.set_threshold(*GC_THRESHOLDS)
    with tempfile.TemporaryDirectory() as folder:
        per_tuple(Path(folder), options.rounds)
        stops(Path(folder), options.keys, options.rounds)
        stops_of_a_table(Path(folder), options.keys, options.rounds)


if __name__ == "__main__":
    main()
