"""The word count that `heronpy bench words` measures: FOLDER UNIT GUARANTEE KEYS uniform|zipf TASKS.

Every task of the bolt writes into FOLDER how many words it has counted, ten times a second. When there is a
file `stop`, every task of the spout writes which words it has emitted and ends, and those of the bolt write
the tallies of their counts.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from heronpy import Bolt, Grouping, Spout, Topology
from heronpy.bench_words import WordBlock, tally

FOLDER, UNIT, GUARANTEE = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
WORDS = WordBlock(int(sys.argv[4]), sys.argv[5] == "zipf")
#: of the spout, and of the bolt
TASKS = int(sys.argv[6])

#: words that one call of next_tuple emits one by one, as a source does that reads in blocks
BURST = 100
#: words of one batch of rows
BATCH = 1_000
#: words that may wait for their acks, and batches of them at the least
PENDING = 50_000
TREES = 50
#: seconds between two looks whether to stop
LOOK = 0.05

MODES = {
    "at_most_once": "ATMOST_ONCE",
    "at_least_once": "ATLEAST_ONCE",
    "effectively_once": "EFFECTIVELY_ONCE",
}
ACKED = GUARANTEE == "at_least_once"
SAVED = GUARANTEE == "effectively_once"


def note(name: str, content: object) -> None:
    """A file that is there as a whole or not at all."""
    unfinished = FOLDER / f"new-{name}"
    unfinished.write_bytes(msgspec.json.encode(content))
    unfinished.replace(FOLDER / name)


class WordSpout(Spout):
    """The words of the block, again and again, until it is told to stop; each task begins elsewhere."""

    outputs: Any = ["word"]
    splits: Any = TASKS
    #: words of one call
    size = BURST

    def initialize(self, config: Any, context: Any) -> None:  # noqa: ARG002
        self.words = self.block()
        (self.split,) = self.splits
        self.begin = WORDS.begin(int(self.split), TASKS)
        self.position = self.state.get(self.split, self.begin) if SAVED else self.begin
        self.due = 0.0

    def block(self) -> Any:
        """All words in the form in which they are emitted."""
        return WORDS.words()

    def next_tuple(self) -> None:
        now = time.monotonic()
        if now >= self.due:
            self.due = now + LOOK
            if (FOLDER / "stop").exists():
                note(f"emitted-{self.split}", (self.begin, self.position))
                self.finish()
                return
        begin = self.position % len(self.words)
        self.position += self.send(begin, min(begin + self.size, len(self.words)))
        if SAVED:
            self.state[self.split] = self.position

    def send(self, begin: int, end: int) -> int:
        """Emit these words of the block; returns how many they are."""
        if ACKED:
            for number, word in enumerate(self.words[begin:end], self.position):
                self.emit([word], tup_id=number)
        else:
            for word in self.words[begin:end]:
                self.emit([word])
        return end - begin


class BatchSpout(WordSpout):
    size = BATCH

    def send(self, begin: int, end: int) -> int:
        self.emit_many(zip(self.words[begin:end], strict=False), tup_id=self.position if ACKED else None)
        return end - begin


class CountBolt(Bolt):
    """Counts each word, in its state where that is saved, else in a dict of its own."""

    def initialize(self, config: Any, context: Any) -> None:  # noqa: ARG002
        self.counts: Any = self.state if SAVED else {}
        self.seen = 0
        self.task = context.get_task_id()
        self.progress = (FOLDER / f"progress-{self.task}").open("a", buffering=1)

    def process(self, tup: Any) -> None:
        counts, word = self.counts, tup.word
        counts[word] = counts.get(word, 0) + 1
        self.seen += 1
        if ACKED:
            self.ack(tup)

    def process_tick(self, tup: Any) -> None:  # noqa: ARG002
        self.progress.write(f"{time.monotonic()} {self.seen}\n")

    def counted(self) -> Iterable[tuple[str, int]]:
        """Every word with its count."""
        items: Iterable[tuple[str, int]] = self.counts.items()
        return items

    def end_of_input(self) -> None:
        note(f"tally-{self.task}", tally(self.counted()))


class BatchCountBolt(CountBolt):
    def initialize(self, config: Any, context: Any) -> None:
        super().initialize(config, context)
        if not SAVED:
            self.counts = Counter()

    def process_rows(self, rows: Any, origin: Any) -> None:
        words = [word for (word,) in rows]
        if SAVED:
            self.add(Counter(words))
        else:
            self.counts.update(words)
        self.seen += len(words)
        if ACKED:
            self.ack(origin)

    def add(self, more: Mapping[str, int]) -> None:
        counts = self.counts
        for word, count in more.items():
            counts[word] = counts.get(word, 0) + count


units: dict[str, tuple[type[WordSpout], type[CountBolt]]] = {
    "rows": (WordSpout, CountBolt),
    "batches": (BatchSpout, BatchCountBolt),
}

if UNIT == "columns":
    from heronpy import bench_columns

    class ColumnSpout(WordSpout):
        outputs = bench_columns.SCHEMA
        size = bench_columns.BATCH

        def block(self) -> Any:
            return bench_columns.column_block(WORDS.words())

        def send(self, begin: int, end: int) -> int:
            batch = self.words.slice(begin, end - begin)
            self.emit_batch(batch, tup_id=self.position if ACKED else None)
            return end - begin

    class ColumnCountBolt(CountBolt):
        def initialize(self, config: Any, context: Any) -> None:
            super().initialize(config, context)
            table = self.state.table("counts", count="int64") if SAVED else None
            self.counts = bench_columns.ColumnCounts(table)

        def process_columns(self, batch: Any, origin: Any) -> None:
            self.counts.add(batch)
            self.seen += len(batch)
            if ACKED:
                self.ack(origin)

    units["columns"] = (ColumnSpout, ColumnCountBolt)

spout, bolt = units[UNIT]


class Bench(Topology):
    config = {
        "topology.reliability.mode": MODES[GUARANTEE],
        "topology.max.spout.pending": PENDING if spout is WordSpout else max(PENDING // spout.size, TREES),
    }
    words = spout.spec(par=TASKS)
    count = bolt.spec(
        par=TASKS, inputs={words: Grouping.fields("word")}, config={"topology.tick.tuple.freq.secs": 0.1}
    )
