"""Even numbers in batches through a bolt for rows, odd ones in rows through a bolt for batches; one ledger.

Numbers flow until there is a file `killed`, then 4,000 more; the ledger is written at the end of input.
"""

import json
import sys
import time
from pathlib import Path

from heronpy import BasicBolt, Bolt, Grouping, Spout, Topology

FOLDER, MODE = Path(sys.argv[1]), sys.argv[2]
BATCH = 100


class Evens(Spout):
    """A batch has the number that it begins with as its id."""

    outputs = ["number"]
    first = 0

    def initialize(self, config, context):
        self.again = []

    def next_tuple(self):
        begin = self.state.get("next", 0)
        if "end" not in self.state and (FOLDER / "killed").exists():
            self.state["end"] = begin + 4000
        if self.again:
            self.send_again()
        elif begin < self.state.get("end", begin + 1):
            self.send(begin)
            self.state["next"] = begin + 2 * BATCH
        else:
            (FOLDER / f"end-{self.first}").write_text(str(begin))
            self.finish()
        time.sleep(0.002)

    def send(self, begin):
        self.emit_many(([number] for number in range(begin, begin + 2 * BATCH, 2)), tup_id=begin)

    def send_again(self):
        self.send(self.again.pop())

    def fail(self, tup_id):
        self.again.append(tup_id)


class Odds(Evens):
    """A row has itself as its id."""

    first = 1

    def send(self, begin):
        for number in range(begin + 1, begin + 1 + 2 * BATCH, 2):
            self.emit([number], tup_id=number)

    def send_again(self):
        number = self.again.pop()
        self.emit([number], tup_id=number)


class Rows(BasicBolt):
    outputs = ["number"]

    def process(self, tup):
        self.emit([tup.number])


class Batches(Bolt):
    """Each number is anchored to the ten tuples that it came with."""

    outputs = ["number"]

    def process_batch(self, tuples):
        for some in (tuples[begin : begin + 10] for begin in range(0, len(tuples), 10)):
            self.emit_many([[tup.number] for tup in some], anchors=some)
        for tup in tuples:
            self.ack(tup)


class Ledger(BasicBolt):
    def initialize(self, config, context):
        self.file = FOLDER / f"ledger-{context.get_task_id()}"

    def process(self, tup):
        self.state[tup.number] = self.state.get(tup.number, 0) + 1

    def end_of_input(self):
        self.file.write_text(json.dumps(dict(self.state)))


class Batched(Topology):
    config = {
        "topology.stmgrs": 2,
        "topology.reliability.mode": MODE,
        "topology.message.timeout.secs": 3,
        "topology.max.spout.pending": 2000,
    }
    evens = Evens.spec()
    odds = Odds.spec()
    rows = Rows.spec(par=2, inputs={evens: Grouping.SHUFFLE})
    batches = Batches.spec(par=2, inputs={odds: Grouping.SHUFFLE})
    ledger = Ledger.spec(par=2, inputs={rows: Grouping.fields("number"), batches: Grouping.fields("number")})
