"""Random words counted in the state of a bolt, from a source that knows its position: it can all be saved."""

import random
import sys
import time
from pathlib import Path

from heronpy import Bolt, Grouping, Spout, Topology

PROGRESS, KEYS, TASKS = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
#: words emitted by one call of next_tuple, as a source does that reads in blocks
BURST = 100
BLOCK = 1_000_000


class Words(Spout):
    outputs = ["word"]
    splits = 1

    def initialize(self, config, context):
        source = random.Random(1)
        self.words = [f"word{source.randrange(KEYS)}" for _ in range(BLOCK)]

    def next_tuple(self):
        for split in self.splits:
            position = self.state.get(split, 0)
            begin = position % BLOCK
            for word in self.words[begin : begin + BURST]:
                self.emit([word])
            self.state[split] = position + BURST


class Count(Bolt):
    """Counts; ten times a second it writes down how many words it has counted, and when."""

    def initialize(self, config, context):
        self.seen = 0
        self.progress = PROGRESS.open("a", buffering=1)

    def process(self, tup):
        state, word = self.state, tup.word
        state[word] = state.get(word, 0) + 1
        self.seen += 1

    def process_tick(self, tup):
        self.progress.write(f"{time.monotonic()} {self.seen}\n")


class SavedWords(Topology):
    config = {"topology.reliability.mode": "EFFECTIVELY_ONCE"}
    words = Words.spec()
    count = Count.spec(
        par=TASKS,
        inputs={words: Grouping.fields("word")},
        config={"topology.tick.tuple.freq.secs": 0.1},
    )
