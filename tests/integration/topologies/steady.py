"""A few thousand numbered tuples a second until it is enough; sinks write down what reached them."""

import struct
import sys
import time
from pathlib import Path

from heronpy import Bolt, Grouping, Spout, Topology

FOLDER = Path(sys.argv[1])
ENTRY = struct.Struct("<II")


class Numbers(Spout):
    outputs = ["source", "number"]

    def initialize(self, config, context):
        self.task = context.get_task_id()
        self.number = 0
        self.over = False

    def next_tuple(self):
        if self.over:
            return
        for _ in range(20):
            self.emit([self.task, self.number])
            self.number += 1
        time.sleep(0.01)
        if (FOLDER / "enough").exists():
            self.over = True
            (FOLDER / f"emitted-{self.task}").write_text(str(self.number))


class Relay(Bolt):
    outputs = ["source", "number"]

    def process(self, tup):
        self.emit(list(tup.values))


class Ledger(Bolt):
    def initialize(self, config, context):
        self.file = (FOLDER / f"ledger-{context.get_task_id()}").open("wb", buffering=0)

    def process(self, tup):
        self.file.write(ENTRY.pack(*tup.values))


class Steady(Topology):
    config = {"topology.stmgrs": 3}
    numbers = Numbers.spec(par=2)
    relay = Relay.spec(par=2, inputs={numbers: Grouping.SHUFFLE})
    ledger = Ledger.spec(par=2, inputs={relay: Grouping.fields("number")})
