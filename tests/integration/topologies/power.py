"""Numbers from positions, counters that are scaled, and what they say in files and in rows of SQLite."""

import sys
import time
from pathlib import Path

from heronpy import BasicBolt, FileSink, Grouping, Spout, SQLiteSink, Topology

#: where the sinks write; and a file that, once it exists, has the numbers end: it is not on that disk
FOLDER, END = map(Path, sys.argv[1:3])
RATE = float(sys.argv[3])
SPLITS = [f"part{number}" for number in range(4)]


class Numbers(Spout):
    """Each split has every fourth number. At the end all of them have the same length."""

    outputs = ["number"]
    splits = SPLITS

    def initialize(self, config, context):
        self.begun, self.emitted = time.monotonic(), 0

    def next_tuple(self):
        end = int(END.read_text()) if END.exists() else None
        allowed = RATE * (time.monotonic() - self.begun) / 2
        for split in self.splits:
            position = self.state.get(split, 0)
            if (end is None and self.emitted < allowed) or (end is not None and position < end):
                self.emit([position * len(SPLITS) + SPLITS.index(split)])
                self.emitted += 1
                self.state[split] = position + 1


class Count(BasicBolt):
    """Two rows per number: itself, and how often its remainder has been seen by then."""

    outputs = ["kind", "value", "seen"]

    def process(self, tup):
        remainder = tup.number % 97
        seen = self.state[remainder] = self.state.get(remainder, 0) + 1
        self.emit(["number", tup.number, 1])
        self.emit(["remainder", remainder, seen])


class Relay(BasicBolt):
    outputs = ["number", "remainder"]

    def process(self, tup):
        self.emit([tup.number, tup.number % 97])


class Power(Topology):
    config = {
        "topology.stmgrs": 2,
        "topology.reliability.mode": "EFFECTIVELY_ONCE",
        "topology.stateful.checkpoint.interval.seconds": 0.5,
    }
    numbers = Numbers.spec(par=2)
    relay = Relay.spec(par=2, inputs={numbers: Grouping.SHUFFLE})
    count = Count.spec(par=2, inputs={relay: Grouping.fields("remainder")})
    lines = FileSink.spec(par=2, inputs={count: Grouping.SHUFFLE}, folder=FOLDER / "lines")
    rows = SQLiteSink.spec(inputs={count: Grouping.SHUFFLE}, database=FOLDER / "rows.db", table="seen")
