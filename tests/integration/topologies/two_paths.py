"""Two paths that share nothing but the topology; the bolt of one is slow while a file exists."""

import sys
import time
from pathlib import Path

from heronpy import Bolt, Grouping, Spout, Topology

SLOW = Path(sys.argv[1])


class Flood(Spout):
    outputs = ["payload"]

    def initialize(self, config, context):
        self.payload = "x" * 100

    def next_tuple(self):
        self.emit([self.payload])


class Trickle(Spout):
    outputs = ["payload"]

    def next_tuple(self):
        time.sleep(0.01)
        self.emit(["drop"])


class Dam(Bolt):
    def process(self, tup):
        time.sleep(0.02 if SLOW.exists() else 0.002)


class Brook(Bolt):
    def process(self, tup):
        pass


class TwoPaths(Topology):
    config = {"topology.stmgrs": 2}
    flood = Flood.spec()
    trickle = Trickle.spec()
    dam = Dam.spec(inputs={flood: Grouping.SHUFFLE})
    brook = Brook.spec(inputs={trickle: Grouping.SHUFFLE})
