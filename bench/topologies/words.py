"""The word count of Heron's paper: random words of a large vocabulary, counted by key.

Arguments: a file for the progress of the bolt, then `batches` and `acked` in any order, or neither.
"""

import random
import sys
import time
from collections import Counter
from pathlib import Path

from heronpy import Bolt, Grouping, Spout, Topology

VOCABULARY = 450_000
#: words emitted by one call of next_tuple, as a source does that reads in blocks (the peer's has 1,000)
BURST = 100
#: words of one batch
BATCH = 1_000
#: whether words are emitted and counted in batches
BATCHES = "batches" in sys.argv[2:]
#: whether every word, or every batch, is tracked, and acked by the bolt
ACKED = "acked" in sys.argv[2:]


def words(seed: int, count: int, vocabulary: int = VOCABULARY) -> list[str]:
    """The same words for everybody who counts them."""
    source = random.Random(seed)
    return [f"word{source.randrange(vocabulary)}" for _ in range(count)]


class Words(Spout):
    outputs = ["word"]

    def initialize(self, config, context):
        self.words = words(seed=context.get_task_id(), count=1_000_000)
        self.position = 0

    def next_tuple(self):
        begin = self.position
        for word in self.words[begin : begin + BURST]:
            self.emit([word], tup_id=word if ACKED else None)
        self.position = (begin + BURST) % len(self.words)


class WordBatches(Words):
    def next_tuple(self):
        begin = self.position
        self.emit_many(zip(self.words[begin : begin + BATCH]), tup_id=begin if ACKED else None)
        self.position = (begin + BATCH) % len(self.words)


class Count(Bolt):
    """Counts; ten times a second it writes down how many words it has counted, and when."""

    def initialize(self, config, context):
        self.counts = {}
        self.seen = 0
        self.progress = Path(sys.argv[1]).open("a", buffering=1)

    def process(self, tup):
        word = tup.word
        self.counts[word] = self.counts.get(word, 0) + 1
        self.seen += 1
        if ACKED:
            self.ack(tup)

    def process_tick(self, tup):
        self.progress.write(f"{time.monotonic()} {self.seen}\n")


class CountBatches(Count):
    def initialize(self, config, context):
        super().initialize(config, context)
        self.counts = Counter()

    def process_batch(self, tuples):
        self.counts.update([tup.word for tup in tuples])
        self.seen += len(tuples)
        if ACKED:
            for tup in tuples:
                self.ack(tup)


class WordCountBench(Topology):
    config = {
        "topology.reliability.mode": "ATLEAST_ONCE" if ACKED else "ATMOST_ONCE",
        "topology.max.spout.pending": 50_000 // (BATCH if BATCHES else 1),
    }
    words = (WordBatches if BATCHES else Words).spec(par=1)
    count = (CountBatches if BATCHES else Count).spec(
        par=1,
        inputs={words: Grouping.fields("word")},
        config={"topology.tick.tuple.freq.secs": 0.1},
    )
