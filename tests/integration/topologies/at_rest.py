"""Numbers 0, 1, 2, … as far as a file says; their sum is kept."""

import sys
from pathlib import Path

from heronpy import Bolt, Grouping, Spout, Topology

LIMIT = Path(sys.argv[1])


class Numbers(Spout):
    outputs = ["number"]
    splits = ["all"]

    def next_tuple(self):
        number = self.state.get("all", 0)
        if number < int(LIMIT.read_text()):
            self.emit([number])
            self.state["all"] = number + 1


class Total(Bolt):
    def process(self, tup):
        self.state["sum"] = self.state.get("sum", 0) + tup.number


class AtRest(Topology):
    config = {"topology.reliability.mode": "EFFECTIVELY_ONCE"}
    numbers = Numbers.spec()
    total = Total.spec(inputs={numbers: Grouping.SHUFFLE})
