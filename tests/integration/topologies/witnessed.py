"""Numbered tuples at most once; what was emitted and what arrived is written where no kill can take it."""

import mmap
import sys
from pathlib import Path

from heronpy import Bolt, Grouping, Spout, Topology

FOLDER = Path(sys.argv[1])
MOST = 20_000_000


def page(name, size):
    """Memory that a file stands for: it is there after kill -9."""
    path = FOLDER / name
    with path.open("a+b") as file:
        file.truncate(size)
        return mmap.mmap(file.fileno(), size)


class Numbers(Spout):
    outputs = ["number"]

    def initialize(self, config, context):
        self.count = page("emitted", 8)

    def next_tuple(self):
        number = int.from_bytes(self.count, "little")
        if number < MOST:
            self.count[:] = (number + 1).to_bytes(8, "little")
            self.emit([number])


class Witness(Bolt):
    def initialize(self, config, context):
        self.seen = page(f"seen-{context.get_task_id()}", MOST)

    def process(self, tup):
        self.seen[tup.number] += 1


class Witnessed(Topology):
    config = {"topology.stmgrs": 2}
    numbers = Numbers.spec()
    witness = Witness.spec(par=2, inputs={numbers: Grouping.SHUFFLE})
