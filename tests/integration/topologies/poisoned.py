"""Numbers 0, 1, 2, … of which one kills the process that gets it; the others are added up."""

import os
import sys
from pathlib import Path

from heronpy import Bolt, Grouping, Spout, Topology

NUMBERS, DEADLY, FOLDER = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])


class Numbers(Spout):
    outputs = ["number"]
    splits = ["all"]

    def initialize(self, config, context):
        self.again = []

    def next_tuple(self):
        number = self.again.pop() if self.again else self.state.get("all", 0)
        if number < NUMBERS:
            self.emit([number], tup_id=number)
            self.state["all"] = max(self.state.get("all", 0), number + 1)

    def fail(self, tup_id):
        self.again.append(tup_id)


class Sums(Bolt):
    def process(self, tup):
        if tup.number == DEADLY:
            with (FOLDER / "deaths").open("a") as deaths:
                deaths.write("x")
            os._exit(9)
        self.state["seen"] = {*self.state.get("seen", ()), tup.number}
        self.state["calls"] = self.state.get("calls", 0) + 1
        with (FOLDER / "processed").open("a") as processed:
            processed.write(f"{tup.number}\n")
        (FOLDER / "seen").write_text(f"{len(self.state['seen'])} {self.state['calls']}")
        self.ack(tup)


class Poisoned(Topology):
    config = {"topology.message.timeout.secs": 2}
    numbers = Numbers.spec()
    sums = Sums.spec(inputs={numbers: Grouping.SHUFFLE})
