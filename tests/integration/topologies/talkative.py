"""Prints 20 kB for every tuple, or nothing with the argument "silent", and keeps a count of them."""

import sys
import time

from heronpy import Bolt, Grouping, Spout, Topology

SILENT = "silent" in sys.argv


class Numbers(Spout):
    outputs = ["number"]

    def next_tuple(self):
        self.state["next"] = self.state.get("next", 0) + 1
        self.emit([self.state["next"]])
        time.sleep(0.001)


class Talk(Bolt):
    def process(self, tup):
        self.state["count"] = self.state.get("count", 0) + 1
        if not SILENT:
            print(f"{tup.number} {'x' * 20_000}")


class Talkative(Topology):
    config = {"topology.reliability.mode": "EFFECTIVELY_ONCE"}
    numbers = Numbers.spec()
    talk = Talk.spec(inputs={numbers: Grouping.fields("number")})
