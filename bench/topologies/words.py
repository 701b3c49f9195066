"""The word count of Heron's paper: random words of a large vocabulary, counted by key."""

import random
import sys
import time
from pathlib import Path

from heronpy import Bolt, Grouping, Spout, Topology

VOCABULARY = 450_000
#: words emitted by one call of next_tuple, as a source does that reads in blocks (the peer's has 1,000)
BURST = 100
#: whether every word is tracked, and acked by the bolt
ACKED = sys.argv[2:] == ["acked"]


def words(seed: int, count: int) -> list[str]:
    """The same words for everybody who counts them."""
    source = random.Random(seed)
    return [f"word{source.randrange(VOCABULARY)}" for _ in range(count)]


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


class WordCountBench(Topology):
    config = {
        "topology.reliability.mode": "ATLEAST_ONCE" if ACKED else "ATMOST_ONCE",
        "topology.max.spout.pending": 50_000,
    }
    words = Words.spec(par=1)
    count = Count.spec(
        par=1,
        inputs={words: Grouping.fields("word")},
        config={"topology.tick.tuple.freq.secs": 0.1},
    )
