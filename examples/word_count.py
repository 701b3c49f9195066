"""Counts words. Two spouts, two bolts, two containers.

Run it:
    heronpy submit examples/word_count.py
    heronpy top WordCount
    heronpy kill WordCount
"""

import itertools
import time

from heronpy import Bolt, Grouping, Spout, Topology

TEXT = "the heron waits and the stream brings the fish"


class Words(Spout):
    outputs = ["word"]

    def initialize(self, config, context):
        self.words = itertools.cycle(TEXT.split())

    def next_tuple(self):
        for word in itertools.islice(self.words, 100):
            self.emit([word])
        time.sleep(0.01)


class Count(Bolt):
    outputs = ["word", "count"]

    def process(self, tup):
        # all tuples with the same word come to the same task, so its own count is the whole count
        total = self.state[tup.word] = self.state.get(tup.word, 0) + 1
        self.emit([tup.word, total])


class WordCount(Topology):
    words = Words.spec(par=2)
    count = Count.spec(par=2, inputs={words: Grouping.fields("word")})
    config = {"topology.stmgrs": 2}
