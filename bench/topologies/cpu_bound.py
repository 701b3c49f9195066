"""Bolts that compute for about 25 microseconds a tuple, behind one spout: NOTES BOLTS."""

import sys
from pathlib import Path

from counting import Counting

from heronpy import Grouping, Spout, Topology

#: steps of the loop of one tuple
STEPS = 400


class Numbers(Spout):
    outputs = ["number"]

    def next_tuple(self):
        self.emit_many([[number] for number in range(200)])


class Work(Counting):
    notes = Path(sys.argv[1])

    def process(self, tup):
        total = tup.number
        for step in range(STEPS):
            total += step
        self.seen += 1


class CpuBound(Topology):
    numbers = Numbers.spec(par=1)
    work = Work.spec(
        par=int(sys.argv[2]),
        inputs={numbers: Grouping.SHUFFLE},
        config={"topology.tick.tuple.freq.secs": 0.1},
    )
