"""Numbers from a source with splits and positions, for Spark to read."""

import sys
import time
from pathlib import Path

from heronpy import BasicBolt, Grouping, Spout, Topology
from heronpy.spark import SegmentSink

#: file with how many numbers there are by now
ALLOWED = Path(sys.argv[1])
#: numbers a second
RATE = 2000
SPLITS = [f"part{number}" for number in range(4)]


class Numbers(Spout):
    """Each split has every fourth number."""

    outputs = ["number"]
    splits = SPLITS

    def initialize(self, config, context):
        self.next_look = self.left = self.allowed = 0

    def next_tuple(self):
        now = time.monotonic()
        if now >= self.next_look:
            self.next_look, self.left, self.allowed = now + 0.1, RATE / 20, int(ALLOWED.read_text())
        for split in self.splits:
            position = self.state.get(split, 0)
            number = position * len(SPLITS) + SPLITS.index(split)
            if number < self.allowed and self.left > 0:
                self.emit([number])
                self.left -= 1
                self.state[split] = position + 1


class Words(BasicBolt):
    outputs = ["number", "word"]

    def process(self, tup):
        self.emit([tup.number, f"word{tup.number % 97}"])


class ToSpark(Topology):
    config = {
        "topology.stmgrs": 2,
        "topology.reliability.mode": "EFFECTIVELY_ONCE",
        "topology.stateful.checkpoint.interval.seconds": 0.5,
    }
    numbers = Numbers.spec(par=2)
    words = Words.spec(par=2, inputs={numbers: Grouping.SHUFFLE})
    out = SegmentSink.spec(
        par=2, inputs={words: Grouping.SHUFFLE}, schema={"number": "int64", "word": "string"}
    )
