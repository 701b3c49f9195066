"""Counts the words of text files, and keeps the counts in an SQLite table: each word once, whoever is killed.

Run it:
    heronpy submit examples/exactly_once.py README.md docs/tutorial.md
    sqlite3 counts.db 'SELECT * FROM counts ORDER BY count DESC LIMIT 5'
    heronpy kill exactly_once
"""

import os
import sys

from heronpy import BasicBolt, Grouping, Spout, SQLiteSink, TopologyBuilder


class Words(Spout):
    """Each file is a split. How far it has been read is in the state, and goes back with everything else."""

    outputs = ["word"]

    @classmethod
    def splits(cls, config):
        return config["files"]

    def initialize(self, config, context):
        self.files = {}

    def next_tuple(self):
        for name in self.splits:
            file = self.files.get(name)
            if file is None:
                file = self.files[name] = open(name, encoding="utf-8")  # noqa: SIM115
            file.seek(self.state.get(name, 0))
            line = file.readline()
            for word in line.split():
                self.emit([word])
            self.state[name] = file.tell()


class Count(BasicBolt):
    outputs = ["word", "count"]

    def process(self, tup):
        total = self.state[tup.word] = self.state.get(tup.word, 0) + 1
        self.emit([tup.word, total])


if __name__ == "__main__":
    builder = TopologyBuilder("exactly_once")
    guarantee, interval = "topology.reliability.mode", "topology.stateful.checkpoint.interval.seconds"
    builder.set_config({guarantee: "EFFECTIVELY_ONCE", interval: 1})
    files = [os.path.abspath(name) for name in sys.argv[1:]]
    words = builder.add_spout("words", Words, par=2, config={"files": files})
    count = builder.add_bolt("count", Count, par=2, inputs={words: Grouping.fields("word")})
    database = os.path.abspath("counts.db")
    table = {SQLiteSink.DATABASE: database, SQLiteSink.TABLE: "counts", SQLiteSink.KEY: ["word"]}
    builder.add_bolt("save", SQLiteSink, par=2, inputs={count: Grouping.fields("word")}, config=table)
    builder.build_and_submit()
