"""A source that can replay: every number is acked in the end, whatever dies on the way.

Numbers flow until there are TUPLES of them, or there is a file `stop`. What is sent, acked and processed
is appended to files at once, so they tell of every process that a task has had, whichever of them was killed.
"""

import math
import struct
import sys
import time
from array import array
from pathlib import Path

from heronpy import BasicBolt, Bolt, Grouping, Spout, Topology

TUPLES = int(sys.argv[1])
FOLDER = Path(sys.argv[2])
#: numbers a second, so that a test knows how long data flows
RATE = float(sys.argv[3]) if len(sys.argv) > 3 else math.inf
#: numbers between two looks for the file `stop`
LOOK = 256
NUMBER = struct.Struct("<I")
ENTRY = struct.Struct("<II")


class Numbers(Spout):
    """A successor sends again what its predecessors have sent without an ack, and goes on from there."""

    outputs = ["number"]

    def initialize(self, config, context):
        self.sent = (FOLDER / "sent").open("a+b", buffering=0)
        self.acked = (FOLDER / "acked").open("a+b", buffering=0)
        sent, acked = self.read(self.sent), self.read(self.acked)
        self.again = sorted(sent - acked, reverse=True)
        self.number = self.first = max(sent, default=-1) + 1
        self.begun = time.monotonic()
        self.stopped = False

    def read(self, file):
        file.seek(0)
        return set(array("I", file.read()))

    def next_tuple(self):
        if self.again:
            self.send(self.again.pop())
        elif self.number % LOOK == 0 and (FOLDER / "stop").exists():
            if not self.stopped:
                self.stopped = True
                (FOLDER / "stopped").touch()
        elif self.number < min(TUPLES, self.first + 1 + RATE * (time.monotonic() - self.begun)):
            self.number += 1
            self.send(self.number - 1)

    def send(self, number):
        self.sent.write(NUMBER.pack(number))
        self.emit([number], tup_id=number)

    def ack(self, tup_id):
        self.acked.write(NUMBER.pack(tup_id))

    def fail(self, tup_id):
        self.again.append(tup_id)


class Relay(BasicBolt):
    outputs = ["number"]

    def process(self, tup):
        self.emit([tup.number])


class Ledger(Bolt):
    def initialize(self, config, context):
        self.file = (FOLDER / f"ledger-{context.get_task_id()}").open("ab", buffering=0)

    def process(self, tup):
        self.file.write(ENTRY.pack(tup.number, tup.task))
        self.ack(tup)


class Replaying(Topology):
    config = {
        "topology.stmgrs": 2,
        "topology.reliability.mode": "ATLEAST_ONCE",
        "topology.message.timeout.secs": 3,
        "topology.max.spout.pending": 2000,
    }
    numbers = Numbers.spec()
    relay = Relay.spec(par=2, inputs={numbers: Grouping.SHUFFLE})
    ledger = Ledger.spec(par=2, inputs={relay: Grouping.fields("number")})
