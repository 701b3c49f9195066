"""Counts the words of lines that Spark writes to it, for Spark to read: each word counts once.

Run it, with the extra [spark] installed:
    heronpy submit examples/spark_words.py
    python examples/spark/words.py README.md
    heronpy kill SparkWords
"""

from heronpy import BasicBolt, Grouping, Topology
from heronpy.spark import IngestSpout, SegmentSink


class Split(BasicBolt):
    outputs = ["word"]

    def process(self, tup):
        for word in tup.line.split():
            self.emit([word])


class Count(BasicBolt):
    outputs = ["word", "count"]

    def process(self, tup):
        total = self.state[tup.word] = self.state.get(tup.word, 0) + 1
        self.emit([tup.word, total])


class SparkWords(Topology):
    config = {
        "topology.reliability.mode": "EFFECTIVELY_ONCE",
        "topology.stateful.checkpoint.interval.seconds": 1,
    }
    lines = IngestSpout.spec(schema={"line": "string"})
    split = Split.spec(inputs={lines: Grouping.SHUFFLE})
    count = Count.spec(par=2, inputs={split: Grouping.fields("word")})
    counts = SegmentSink.spec(inputs={count: Grouping.SHUFFLE}, schema={"word": "string", "count": "int64"})
