"""Tasks in so many containers, one half spouts, the other half counting bolts: NOTES CONTAINERS [TASKS]."""

import sys
from pathlib import Path

from counting import Counting, Ending

from heronpy import Grouping, Topology
from heronpy.bench_words import STEM, WordBlock

NOTES = Path(sys.argv[1])
NUMBERS = WordBlock(10_000, False).numbers()[:100_000]
WORDS = [f"{STEM}{number}" for number in NUMBERS]
BURST = 100
#: of the words of one burst, by its number
SUMS = [sum(NUMBERS[begin : begin + BURST]) for begin in range(0, len(NUMBERS), BURST)]
TASKS = int(sys.argv[3]) if len(sys.argv) > 3 else 16


class Words(Ending):
    notes = NOTES
    outputs = ["word"]

    def send(self, now):
        begin = self.sent % len(WORDS)
        for word in WORDS[begin : begin + BURST]:
            self.emit([word])
        self.sent += BURST
        self.total += SUMS[begin // BURST]


class Count(Counting):
    notes = NOTES

    def initialize(self, config, context):
        super().initialize(config, context)
        self.counts = {}

    def process(self, tup):
        word = tup.word
        self.counts[word] = self.counts.get(word, 0) + 1
        self.seen += 1

    def end_of_input(self):
        self.total = sum(int(word[len(STEM) :]) * count for word, count in self.counts.items())
        super().end_of_input()


class Growth(Topology):
    config = {"topology.stmgrs": int(sys.argv[2])}
    words = Words.spec(par=TASKS // 2)
    count = Count.spec(
        par=TASKS // 2, inputs={words: Grouping.fields("word")}, config={"topology.tick.tuple.freq.secs": 0.1}
    )
