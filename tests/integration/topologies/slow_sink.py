"""A spout that would emit as fast as it can, and a bolt that takes five milliseconds a tuple."""

import time

from heronpy import Bolt, Grouping, Spout, Topology


class Flood(Spout):
    outputs = ["payload"]

    def initialize(self, config, context):
        self.payload = "x" * 1000

    def next_tuple(self):
        self.emit([self.payload])


class Slow(Bolt):
    def process(self, tup):
        time.sleep(0.005)


class SlowSink(Topology):
    config = {"topology.stmgrs": 2}
    flood = Flood.spec()
    slow = Slow.spec(inputs={flood: Grouping.SHUFFLE})
