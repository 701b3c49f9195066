"""Tasks in so many containers, one half spouts, the other half counting bolts: NOTES CONTAINERS [TASKS]."""

import sys
from pathlib import Path

from counting import Counting

from heronpy import Grouping, Spout, Topology
from heronpy.bench_words import WordBlock

WORDS = WordBlock(10_000, False).words()[:100_000]
BURST = 100
TASKS = int(sys.argv[3]) if len(sys.argv) > 3 else 16


class Words(Spout):
    outputs = ["word"]

    def initialize(self, config, context):
        self.position = 0

    def next_tuple(self):
        begin = self.position
        for word in WORDS[begin : begin + BURST]:
            self.emit([word])
        self.position = (begin + BURST) % len(WORDS)


class Count(Counting):
    notes = Path(sys.argv[1])

    def initialize(self, config, context):
        super().initialize(config, context)
        self.counts = {}

    def process(self, tup):
        word = tup.word
        self.counts[word] = self.counts.get(word, 0) + 1
        self.seen += 1


class Growth(Topology):
    config = {"topology.stmgrs": int(sys.argv[2])}
    words = Words.spec(par=TASKS // 2)
    count = Count.spec(
        par=TASKS // 2, inputs={words: Grouping.fields("word")}, config={"topology.tick.tuple.freq.secs": 0.1}
    )
