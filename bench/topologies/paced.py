"""Tuples on schedule: NOTES RATE SHAPE. The bolt at the end notes how long each was on its way.

RATE is a number a second, or `max` for as many as go through. SHAPE is `hop` (a spout, a bolt), `fan` (a
spout, a hundred tasks that all get every tuple) or `chain` (thirty bolts in a row).
"""

import json
import sys
import time
from collections import Counter
from pathlib import Path

from counting import Counting, Ending

from heronpy import Bolt, Grouping, TopologyBuilder

NOTES, SHAPE = Path(sys.argv[1]), sys.argv[3]
PERIOD = 0.0 if sys.argv[2] == "max" else 1 / float(sys.argv[2])
#: tuples of one call at the most
BURST = 100


class Paced(Ending):
    """Emits what is due: (when it was due, when it was emitted), also where it is late."""

    notes = NOTES
    outputs = ["due", "emitted"]

    def initialize(self, config, context):
        super().initialize(config, context)
        self.due = time.monotonic() + 1.0

    def send(self, now):
        for _ in range(BURST):
            if self.due > now:
                break
            self.emit([self.due if PERIOD else now, time.monotonic()])
            self.due += PERIOD
            self.sent += 1

    def due_in(self):
        return self.due - time.monotonic()


class Pass(Bolt):
    outputs = ["due", "emitted"]

    def process(self, tup):
        self.emit(list(tup.values))


class Watch(Counting):
    """Once a second it writes down how many tuples there were so far, and how many took how long.

    `total` counts those that are no later than the one before: none, since each comes once and in order.
    """

    notes = NOTES

    def initialize(self, config, context):
        super().initialize(config, context)
        self.task, self.last = context.get_task_id(), 0.0
        self.since_due, self.since_emitted = Counter(), Counter()

    def process(self, tup):
        now = time.monotonic()
        self.seen += 1
        due, emitted = tup.values
        if emitted <= self.last:
            self.total += 1
        self.last = emitted
        self.since_due[int((now - due) * 1e6)] += 1
        self.since_emitted[int((now - emitted) * 1e6)] += 1

    def process_tick(self, tup):
        super().process_tick(tup)
        for name, counts in (("due", self.since_due), ("emitted", self.since_emitted)):
            unfinished = NOTES / f"{name}-{self.task}.new"
            unfinished.write_text(json.dumps(counts))
            unfinished.replace(NOTES / f"{name}-{self.task}.json")


builder = TopologyBuilder("paced")
last = builder.add_spout("paced", Paced, par=1)
if SHAPE == "chain":
    for number in range(29):
        last = builder.add_bolt(f"pass{number}", Pass, par=1, inputs={last: Grouping.SHUFFLE})
grouping = Grouping.ALL if SHAPE == "fan" else Grouping.SHUFFLE
ticks = {"topology.tick.tuple.freq.secs": 1}
builder.add_bolt("watch", Watch, par=100 if SHAPE == "fan" else 1, inputs={last: grouping}, config=ticks)
builder.build_and_submit()
