"""A source that can replay: every number is acked in the end, whatever dies on the way."""

import math
import struct
import sys
import time
from pathlib import Path

from heronpy import BasicBolt, Bolt, Grouping, Spout, Topology

TUPLES = int(sys.argv[1])
FOLDER = Path(sys.argv[2])
#: numbers a second, so that a test knows how long data flows
RATE = float(sys.argv[3]) if len(sys.argv) > 3 else math.inf
ENTRY = struct.Struct("<II")


class Numbers(Spout):
    outputs = ["number"]

    def initialize(self, config, context):
        self.number = 0
        self.begun = time.monotonic()
        self.again = []
        self.acked = 0
        self.replayed = 0
        self.progress = FOLDER / "progress"

    def next_tuple(self):
        if self.again:
            self.replayed += 1
            number = self.again.pop()
            self.emit([number], tup_id=number)
        elif self.number < min(TUPLES, 1 + RATE * (time.monotonic() - self.begun)):
            self.emit([self.number], tup_id=self.number)
            self.number += 1

    def ack(self, tup_id):
        self.acked += 1
        if self.acked % 1000 == 0 or self.acked == TUPLES:
            # renamed, so that nobody ever reads half of it
            draft = self.progress.with_suffix(".new")
            draft.write_text(f"{self.acked} {self.replayed}")
            draft.replace(self.progress)

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
