"""Bolts that compute for about 25 microseconds a tuple, behind one spout: NOTES BOLTS."""

import sys
from pathlib import Path

from counting import Counting, Ending

from heronpy import Grouping, Topology

NOTES = Path(sys.argv[1])
#: tuples of one call
BURST = 200
#: steps of the loop of one tuple
STEPS = 400


class Numbers(Ending):
    notes = NOTES
    outputs = ["number"]

    def send(self, now):
        numbers = range(self.sent, self.sent + BURST)
        self.emit_many([[number] for number in numbers])
        self.sent += BURST
        self.total += sum(numbers)


class Work(Counting):
    notes = NOTES

    def process(self, tup):
        total = tup.number
        for step in range(STEPS):
            total += step
        self.seen += 1
        self.total += tup.number


class CpuBound(Topology):
    numbers = Numbers.spec(par=1)
    work = Work.spec(
        par=int(sys.argv[2]),
        inputs={numbers: Grouping.SHUFFLE},
        config={"topology.tick.tuple.freq.secs": 0.1},
    )
