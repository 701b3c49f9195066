"""Numbered tuples through two hops; every sink task writes down exactly what reached it, in order."""

import struct
import sys
from pathlib import Path

from heronpy import Bolt, Grouping, Spout, Topology

TUPLES = int(sys.argv[1])
FOLDER = Path(sys.argv[2])
ENTRY = struct.Struct("<III")


class Numbers(Spout):
    outputs = ["source", "number"]

    def initialize(self, config, context):
        self.task = context.get_task_id()
        self.number = 0

    def next_tuple(self):
        if self.number < TUPLES:
            self.emit([self.task, self.number])
            self.number += 1


class Relay(Bolt):
    outputs = ["source", "number", "relay"]

    def initialize(self, config, context):
        self.task = context.get_task_id()

    def process(self, tup):
        self.emit([tup.source, tup.number, self.task])


class Ledger(Bolt):
    def initialize(self, config, context):
        self.file = (FOLDER / f"ledger-{context.get_task_id()}").open("wb", buffering=0)
        self.entries = []

    def process(self, tup):
        self.entries.append(ENTRY.pack(*tup.values))
        if len(self.entries) >= 1000:
            self.write()

    def process_tick(self, tup):
        self.write()

    def write(self):
        self.file.write(b"".join(self.entries))
        self.entries.clear()


class LedgerTopology(Topology):
    config = {"topology.stmgrs": 3}
    numbers = Numbers.spec(par=2)
    relay = Relay.spec(par=3, inputs={numbers: Grouping.SHUFFLE})
    ledger = Ledger.spec(
        par=2,
        inputs={relay: Grouping.fields("number")},
        config={"topology.tick.tuple.freq.secs": 0.2},
    )
