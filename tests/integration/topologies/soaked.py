"""Numbers at a steady rate, counted in state that is soon full: what grows after that is the engine."""

import sys
import time

from heronpy import Bolt, Grouping, Spout, Topology

#: numbers a second
RATE = int(sys.argv[1])
KEYS = 10_000
#: seconds of rest after each burst
REST = 0.01


class Numbers(Spout):
    outputs = ["number", "key"]

    def initialize(self, config, context):
        self.burst = max(1, round(RATE * REST))
        self.due = time.monotonic()

    def next_tuple(self):
        now = time.monotonic()
        if now < self.due:
            time.sleep(self.due - now)
        # what was missed in a long pause is not made up for
        self.due = max(self.due + REST, now - 1)
        number = self.state.get("next", 0)
        for each in range(number, number + self.burst):
            self.emit([each, each % KEYS])
        self.state["next"] = number + self.burst


class Relay(Bolt):
    outputs = ["number", "key"]

    def process(self, tup):
        self.emit([tup.number, tup.key])


class Count(Bolt):
    def process(self, tup):
        self.state[tup.key] = self.state.get(tup.key, 0) + 1


class Soaked(Topology):
    config = {"topology.stmgrs": 2, "topology.reliability.mode": "EFFECTIVELY_ONCE"}
    numbers = Numbers.spec()
    relay = Relay.spec(par=2, inputs={numbers: Grouping.SHUFFLE})
    count = Count.spec(par=2, inputs={relay: Grouping.fields("key")})
