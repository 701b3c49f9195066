"""A few tuples a second; the name comes from the command line, as Apache's examples take it."""

import sys
import time

from heronpy import Bolt, Grouping, Spout, TopologyBuilder


class Ticker(Spout):
    outputs = ["number"]

    def initialize(self, config, context):
        self.number = 0

    def next_tuple(self):
        self.emit([self.number])
        self.number += 1
        time.sleep(0.1)


class Sink(Bolt):
    def process(self, tup):
        pass


if __name__ == "__main__":
    builder = TopologyBuilder(sys.argv[1])
    ticker = builder.add_spout("ticker", Ticker, par=1)
    builder.add_bolt("sink", Sink, par=1, inputs={ticker: Grouping.SHUFFLE})
    builder.build_and_submit()
