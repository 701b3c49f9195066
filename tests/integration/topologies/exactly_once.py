"""A finite source with splits and positions, a bolt that keeps state, and a sink of files or of rows."""

import sys
import time
from pathlib import Path

from heronpy import BasicBolt, FileSink, Grouping, Spout, SQLiteSink, Topology

KIND, TARGET = sys.argv[1:3]
#: numbers, and how many of them a second
TOTAL, RATE = map(int, sys.argv[3:])
#: once it exists, numbers come as fast as they can
HURRY = Path(f"{TARGET}.hurry")
SPLITS = [f"part{number}" for number in range(4)]


class Numbers(Spout):
    """Each split has every fourth number."""

    outputs = ["number"]
    splits = SPLITS

    def initialize(self, config, context):
        self.begun, self.emitted = time.monotonic(), 0

    def next_tuple(self):
        allowed = TOTAL if HURRY.exists() else RATE * (time.monotonic() - self.begun) / 2
        for split in self.splits:
            position = self.state.get(split, 0)
            number = position * len(SPLITS) + SPLITS.index(split)
            if number < TOTAL and self.emitted < allowed:
                self.emit([number])
                self.emitted += 1
                self.state[split] = position + 1


class Remainder(BasicBolt):
    outputs = ["number", "remainder"]

    def process(self, tup):
        self.emit([tup.number, tup.number % 97])


class Count(BasicBolt):
    """Two rows per number: itself, and how often its remainder has been seen by then."""

    outputs = ["kind", "value", "seen"]

    def process(self, tup):
        seen = self.state[tup.remainder] = self.state.get(tup.remainder, 0) + 1
        self.emit(["number", tup.number, 1])
        self.emit(["remainder", tup.remainder, seen])


class ExactlyOnce(Topology):
    config = {
        "topology.stmgrs": 2,
        "topology.reliability.mode": "EFFECTIVELY_ONCE",
        "topology.stateful.checkpoint.interval.seconds": 0.5,
    }
    numbers = Numbers.spec(par=2)
    relay = Remainder.spec(par=2, inputs={numbers: Grouping.SHUFFLE})
    count = Count.spec(par=2, inputs={relay: Grouping.fields("remainder")})
    if KIND == "files":
        sink = FileSink.spec(par=2, inputs={count: Grouping.SHUFFLE}, folder=TARGET)
    else:
        sink = SQLiteSink.spec(par=2, inputs={count: Grouping.SHUFFLE}, database=TARGET, table="seen")
