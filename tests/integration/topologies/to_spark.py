"""Numbers from a source with splits and positions, for Spark to read."""

import sys
import time

from heronpy import BasicBolt, Grouping, Spout, Topology
from heronpy.spark import SegmentSink

#: numbers, and how many of them a second
TOTAL, RATE = map(int, sys.argv[1:3])
MODE = sys.argv[3] if len(sys.argv) > 3 else "EFFECTIVELY_ONCE"
SPLITS = [f"part{number}" for number in range(4)]


class Numbers(Spout):
    """Each split has every fourth number."""

    outputs = ["number"]
    splits = SPLITS

    def initialize(self, config, context):
        self.begun, self.emitted = time.monotonic(), 0

    def next_tuple(self):
        allowed = RATE * (time.monotonic() - self.begun) / 2
        for split in self.splits:
            position = self.state.get(split, 0)
            number = position * len(SPLITS) + SPLITS.index(split)
            if number < TOTAL and self.emitted < allowed:
                self.emit([number], number if MODE == "ATLEAST_ONCE" else None)
                self.emitted += 1
                self.state[split] = position + 1


class Words(BasicBolt):
    outputs = ["number", "word"]

    def process(self, tup):
        self.emit([tup.number, f"word{tup.number % 97}"])


class ToSpark(Topology):
    config = {
        "topology.stmgrs": 2,
        "topology.reliability.mode": MODE,
        "topology.stateful.checkpoint.interval.seconds": 0.5,
    }
    numbers = Numbers.spec(par=2)
    words = Words.spec(par=2, inputs={numbers: Grouping.SHUFFLE})
    out = SegmentSink.spec(
        par=2, inputs={words: Grouping.SHUFFLE}, schema={"number": "int64", "word": "string"}
    )
