"""Counts numbers by their last two digits, from where the spout has come to; counters show what they have."""

import json
import sys
import time
from pathlib import Path

from heronpy import Bolt, Grouping, Spout, Topology

NUMBERS = int(sys.argv[1])
COUNTERS = int(sys.argv[2])
FOLDER = Path(sys.argv[3])


class Numbers(Spout):
    outputs = ["number", "digits"]

    def next_tuple(self):
        number = self.state.get("next", 0)
        for each in range(number, min(number + 100, NUMBERS)):
            self.emit([each, each % 100])
        self.state["next"] = min(number + 100, NUMBERS)
        time.sleep(0.005)


class Count(Bolt):
    def initialize(self, config, context):
        self.file = FOLDER / f"count-{context.get_task_id()}"

    def process(self, tup):
        self.state[tup.digits] = self.state.get(tup.digits, 0) + 1

    def process_tick(self, tup):
        unfinished = self.file.with_suffix(".new")
        unfinished.write_text(json.dumps(dict(self.state)))
        unfinished.replace(self.file)


class Resumed(Topology):
    config = {"topology.stmgrs": 2, "topology.tick.tuple.freq.secs": 0.2}
    numbers = Numbers.spec()
    count = Count.spec(par=COUNTERS, inputs={numbers: Grouping.fields("digits")})
