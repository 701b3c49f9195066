"""Effectively once: numbers from where the spout has come to, counters, and a sink with transactions."""

import json
import sys
import time
from pathlib import Path

from heronpy import Bolt, Grouping, Spout, Topology
from heronpy.transactions import TransactionalSink

NUMBERS = int(sys.argv[1])
FOLDER = Path(sys.argv[2])
#: seconds of rest after twenty numbers, until the file exists that asks for the others at once
REST = float(sys.argv[3])
HURRY = FOLDER / "hurry"


class Numbers(Spout):
    outputs = ["number", "digits"]

    def next_tuple(self):
        number = self.state.get("next", 0)
        for each in range(number, min(number + 20, NUMBERS)):
            self.emit([each, each % 100], tup_id=each)
        self.state["next"] = min(number + 20, NUMBERS)
        if number >= NUMBERS or not HURRY.exists():
            time.sleep(REST)

    def ack(self, tup_id):
        self.state["acked"] = tup_id

    def fail(self, tup_id):
        raise AssertionError(tup_id)


class Relay(Bolt):
    outputs = ["number", "digits"]

    def process(self, tup):
        self.emit([tup.number, tup.digits])


class Count(Bolt):
    outputs = ["number"]

    def initialize(self, config, context):
        self.file = FOLDER / f"count-{context.get_task_id()}"

    def process(self, tup):
        self.state[tup.digits] = self.state.get(tup.digits, 0) + 1
        self.emit([tup.number])

    def process_tick(self, tup):
        unfinished = self.file.with_suffix(".new")
        unfinished.write_text(json.dumps(dict(self.state)))
        unfinished.replace(self.file)


class Lines(TransactionalSink, Bolt):
    """A file per transaction: hidden until it is committed."""

    def initialize(self, config, context):
        self.index = context.get_task_id()
        self.count = time.time_ns()

    def begin(self):
        self.rows = []

    def prepare(self, checkpoint):
        self.count += 1
        name = f"lines-{self.index}-{self.count}"
        (FOLDER / f".{name}").write_text("".join(f"{row}\n" for row in self.rows))
        return name.encode()

    def commit(self, handle):
        hidden = FOLDER / f".{handle.decode()}"
        if hidden.exists():
            hidden.rename(FOLDER / handle.decode())

    def abort(self):
        for hidden in FOLDER.glob(f".lines-{self.index}-*"):
            hidden.unlink()

    def process(self, tup):
        self.rows.append(tup.number)


class Exact(Topology):
    config = {
        "topology.stmgrs": 2,
        "topology.tick.tuple.freq.secs": 0.2,
        "topology.reliability.mode": "EFFECTIVELY_ONCE",
    }
    numbers = Numbers.spec()
    relay = Relay.spec(par=2, inputs={numbers: Grouping.SHUFFLE})
    count = Count.spec(par=2, inputs={relay: Grouping.fields("digits")})
    lines = Lines.spec(inputs={count: Grouping.SHUFFLE})
