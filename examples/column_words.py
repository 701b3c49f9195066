"""Counts words in columns: record batches instead of tuples, counts in a table of arrays.

Needs the extra heron-py[columns]: pip install '.[columns]' in a clone

Run it:
    heronpy submit examples/column_words.py
    heronpy top ColumnWords
    heronpy kill ColumnWords
"""

import time

import numpy as np
import pyarrow as pa

from heronpy import BasicBolt, Grouping, Schema, Spout, Topology

TEXT = "the heron waits and the stream brings the fish"
WORDS = Schema(word=pa.string())


class Words(Spout):
    outputs = WORDS

    def initialize(self, config, context):
        self.words = pa.array(TEXT.split())
        self.random = np.random.default_rng()

    def next_tuple(self):
        drawn = self.words.take(pa.array(self.random.integers(len(self.words), size=10_000)))
        self.emit_batch(pa.record_batch([drawn], schema=WORDS.arrow))
        time.sleep(0.01)


class Count(BasicBolt):
    outputs = Schema(word=pa.string(), count=pa.int64())

    def initialize(self, config, context):
        self.counts = self.state.table("counts", count="int64")

    def process_columns(self, batch):
        # all rows with the same word come to the same task, so its own count is the whole count
        self.counts.add(batch["word"], {"count": 1})

    def process_tick(self, tup):
        self.emit_batch(self.counts.batch())


class ColumnWords(Topology):
    words = Words.spec(par=2)
    count = Count.spec(
        par=2, inputs={words: Grouping.fields("word")}, config={"topology.tick.tuple.freq.secs": 1}
    )
