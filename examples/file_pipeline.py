"""Counts the words of a file and writes the counts to another file, once, when every word is counted.

Run it:
    heronpy submit examples/file_pipeline.py README.md /tmp/counts.txt
    cat /tmp/counts.txt
    heronpy kill file_pipeline
"""

import os
import sys

from heronpy import Bolt, Grouping, Spout, Stream, TopologyBuilder


class Words(Spout):
    outputs = ["word", Stream(fields=["words"], name="end")]

    def initialize(self, config, context):
        self.lines, self.words = open(config["input"], encoding="utf-8"), 0  # noqa: SIM115

    def next_tuple(self):
        line = "" if self.lines.closed else self.lines.readline()
        for word in line.split():
            self.emit([word])
            self.words += 1
        if not line and not self.lines.closed:
            self.lines.close()
            self.emit([self.words], stream="end")


class Count(Bolt):
    outputs = ["word", "count"]

    def process(self, tup):
        total = self.state[tup.word] = self.state.get(tup.word, 0) + 1
        self.emit([tup.word, total])


class Save(Bolt):
    def initialize(self, config, context):
        self.output, self.counts, self.seen, self.expected = config["output"], {}, 0, None

    def process(self, tup):
        if tup.stream == "end":  # one stream may overtake the other: this is not always the last tuple
            self.expected = tup.words
        else:
            self.counts[tup.word] = tup.count
            self.seen += 1
        if self.seen == self.expected:
            with open(self.output, "w", encoding="utf-8") as file:
                file.writelines(f"{count} {word}\n" for word, count in sorted(self.counts.items()))


if __name__ == "__main__":
    source, target = map(os.path.abspath, sys.argv[1:])
    builder = TopologyBuilder("file_pipeline")
    words = builder.add_spout("words", Words, par=1, config={"input": source})
    count = builder.add_bolt("count", Count, par=2, inputs={words: Grouping.fields("word")})
    builder.add_bolt("save", Save, par=1, inputs=[count, words["end"]], config={"output": target})
    builder.build_and_submit()
