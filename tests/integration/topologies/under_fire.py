"""Numbers until told to stop, at full speed if they have no rest or are told to hurry.

What was emitted, acked and written down survives any kill.
"""

import mmap
import os
import struct
import sys
import time
from pathlib import Path

from heronpy import BasicBolt, Bolt, Grouping, Spout, Topology

RELIABILITY = sys.argv[1]
FOLDER = Path(sys.argv[2])
REST = float(sys.argv[3])
TRACKED = RELIABILITY == "ATLEAST_ONCE"
ENTRY = struct.Struct("<IIII")
EMITTED, ACKED, REPLAYED, COMMITTED, DONE = range(5)
SPACE = 5 * 8


class Numbers(Spout):
    """A source that can replay: its successor resumes from what is acked (or, untracked, emitted)."""

    outputs = ["number"]

    def initialize(self, config, context):
        path = FOLDER / "progress"
        if not path.exists():
            path.write_bytes(bytes(SPACE))
        with path.open("r+b") as file:
            # Each number is stored at once, while struct.pack_into() would show a zero first.
            self.progress = memoryview(mmap.mmap(file.fileno(), SPACE)).cast("Q")
        self.number = self.get(COMMITTED) if TRACKED else self.get(EMITTED)
        self.put(REPLAYED, self.get(REPLAYED) + self.get(EMITTED) - self.number)
        self.committed = self.number
        self.done = set()
        self.again = []
        self.calls = 0
        self.stopping = False

    def get(self, place):
        return self.progress[place]

    def put(self, place, number):
        self.progress[place] = number

    def next_tuple(self):
        self.calls += 1
        if self.calls % 256 == 0 and not (FOLDER / "hurry").exists():
            time.sleep(REST)
        if self.calls % 256 == 0 or self.stopping:
            self.stopping = (FOLDER / "stop").exists()
        if self.again:
            number = self.again.pop()
            self.put(REPLAYED, self.get(REPLAYED) + 1)
            self.emit([number], tup_id=number)
        elif not self.stopping or self.number < self.get(EMITTED):
            number = self.number
            self.number += 1
            if self.number > self.get(EMITTED):
                self.put(EMITTED, self.number)
            self.emit([number], tup_id=number if TRACKED else None)
        elif not TRACKED or self.committed == self.number:
            self.put(DONE, 1)

    def ack(self, tup_id):
        self.put(ACKED, self.get(ACKED) + 1)
        self.done.add(tup_id)
        while self.committed in self.done:
            self.done.remove(self.committed)
            self.committed += 1
        self.put(COMMITTED, self.committed)

    def fail(self, tup_id):
        self.again.append(tup_id)


class Relay(BasicBolt):
    outputs = ["number", "pid"]

    def process(self, tup):
        self.emit([tup.number, os.getpid()])


class Ledger(Bolt):
    def initialize(self, config, context):
        self.file = (FOLDER / f"ledger-{context.get_task_id()}").open("ab", buffering=0)

    def process(self, tup):
        self.file.write(ENTRY.pack(tup.number, tup.task, tup.pid, os.getpid()))
        self.ack(tup)


class UnderFire(Topology):
    config = {
        "topology.stmgrs": 2,
        "topology.reliability.mode": RELIABILITY,
        "topology.message.timeout.secs": 2,
        "topology.max.spout.pending": 20_000,
    }
    numbers = Numbers.spec()
    relay = Relay.spec(par=2, inputs={numbers: Grouping.SHUFFLE})
    ledger = Ledger.spec(par=2, inputs={relay: Grouping.fields("number")})
