"""A thousand tuples a second over one pair of hops; the bolt notes how long each was on its way."""

import json
import sys
import time
from collections import Counter
from pathlib import Path

from heronpy import Bolt, Grouping, Spout, Topology

RATE = 1000
NOTES = Path(sys.argv[1])


class Paced(Spout):
    """Emits what is due: (when it was due, when it was emitted)."""

    outputs = ["due", "emitted"]

    def initialize(self, config, context):
        self.due = time.monotonic() + 1.0

    def next_tuple(self):
        now = time.monotonic()
        while self.due <= now:
            self.emit([self.due, time.monotonic()])
            self.due += 1 / RATE


class Watch(Bolt):
    """Once a second it writes down how many tuples took how many microseconds, so far."""

    def initialize(self, config, context):
        self.since_due, self.since_emitted = Counter(), Counter()

    def process(self, tup):
        now = time.monotonic()
        self.since_due[int((now - tup.values[0]) * 1e6)] += 1
        self.since_emitted[int((now - tup.values[1]) * 1e6)] += 1

    def process_tick(self, tup):
        unfinished = NOTES.with_suffix(".new")
        unfinished.write_text(json.dumps([self.since_due, self.since_emitted]))
        unfinished.replace(NOTES)


class PacedTopology(Topology):
    paced = Paced.spec(par=1)
    watch = Watch.spec(par=1, inputs={paced: Grouping.SHUFFLE}, config={"topology.tick.tuple.freq.secs": 1})
