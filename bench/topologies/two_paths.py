"""Two paths that share nothing but the topology; the bolt of one slows down on demand."""

import sys
import time
from pathlib import Path

from heronpy import Bolt, Grouping, Spout, Topology

#: while this file exists, the slow path's bolt takes ten times as long
SLOW = Path(sys.argv[1])
#: it writes here when it had processed how much: the engine's own rates are a second or two old
PROGRESS = Path(sys.argv[2])
#: seconds of one process(); sleeping, so that two cores suffice to show what credit does
WORK = 0.0005


class Source(Spout):
    outputs = ["payload"]

    def initialize(self, config, context):
        self.payload = "x" * 200

    def next_tuple(self):
        self.emit([self.payload])


class Work(Bolt):
    def process(self, tup):
        time.sleep(WORK)


class Brake(Bolt):
    def initialize(self, config, context):
        self.looked, self.factor, self.count = 0.0, 1, 0
        self.progress = PROGRESS.open("a", buffering=1)

    def process(self, tup):
        now = time.monotonic()
        self.count += 1
        if now - self.looked > 0.1:
            self.looked, self.factor = now, 10 if SLOW.exists() else 1
            self.progress.write(f"{now} {self.count}\n")
        time.sleep(WORK * self.factor)


class TwoPaths(Topology):
    config = {"topology.stmgrs": 2}
    upper = Source.spec()
    brake = Brake.spec(inputs={upper: Grouping.SHUFFLE})
    lower = Source.spec()
    work = Work.spec(inputs={lower: Grouping.SHUFFLE})
