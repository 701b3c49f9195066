"""Input that ends: numbers, a count for each remainder that is emitted at the end, and a sink with files."""

import sys
import time

from heronpy import Bolt, FileSink, Grouping, Spout, Topology

NUMBERS, REST, FOLDER, MODE = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3], sys.argv[4]
REMAINDERS = 10


class Numbers(Spout):
    """Each task has half of the splits, and the position in each split in its state."""

    outputs = ["number", "remainder"]
    splits = 4

    def next_tuple(self):
        for split in self.splits:
            position = self.state.get(split, 0)
            if position < NUMBERS:
                self.state[split] = position + 1
                number = NUMBERS * int(split) + position
                self.emit([number, number % REMAINDERS], tup_id=(split, position))
                if REST:
                    time.sleep(REST)
                return
        self.finish()


class Count(Bolt):
    outputs = ["line"]

    def process(self, tup):
        self.state[tup.remainder] = self.state.get(tup.remainder, 0) + 1
        self.ack(tup)

    def end_of_input(self):
        for remainder, count in self.state.items():
            self.emit([f"{remainder} {count}"])


class Bounded(Topology):
    config = {
        "topology.stmgrs": 2,
        "topology.reliability.mode": MODE,
    }
    numbers = Numbers.spec(par=2)
    count = Count.spec(par=2, inputs={numbers: Grouping.fields("remainder")})
    files = FileSink.spec(inputs=[count], folder=FOLDER)
