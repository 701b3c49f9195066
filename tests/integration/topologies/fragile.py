"""A sink that cannot start while a certain file is there."""

import sys
import time
from pathlib import Path

from heronpy import Bolt, Grouping, Spout, Topology

BROKEN = Path(sys.argv[1]) / "broken"


class Ticker(Spout):
    outputs = ["number"]

    def initialize(self, config, context):
        self.number = 0

    def next_tuple(self):
        time.sleep(0.01)
        self.emit([self.number])
        self.number += 1


class Sink(Bolt):
    def initialize(self, config, context):
        if BROKEN.exists():
            raise RuntimeError("the database is not there")

    def process(self, tup):
        pass


class Fragile(Topology):
    config = {"topology.stmgrs": 2}
    ticker = Ticker.spec()
    sink = Sink.spec(par=2, inputs={ticker: Grouping.SHUFFLE})
