"""Numbers in columns, relayed in columns and counted in a table; flows until there is a file `enough`.

Every number comes twice: once by its batch, once as a row. The ledger is written at the end of input; where a
spout began is in the file `began`. Arguments: a folder for these files, and how many tasks count.
"""

import json
import sys
import time
from pathlib import Path

import pyarrow as pa

from heronpy import BasicBolt, Grouping, Schema, Spout, Topology

FOLDER, COUNTING = Path(sys.argv[1]), int(sys.argv[2])
BATCH = 500
NUMBERS = Schema(key=pa.string(), number=pa.int64())


class Numbers(Spout):
    outputs = NUMBERS

    def initialize(self, config, context):
        (FOLDER / "began").write_text(str(self.state.get("next", 0)))

    def next_tuple(self):
        begin = self.state.get("next", 0)
        if (FOLDER / "enough").exists():
            (FOLDER / "end").write_text(str(begin))
            self.finish()
            return
        numbers = range(begin, begin + BATCH)
        keys = pa.array([f"key {number % 997}" for number in numbers])
        self.emit_batch(pa.record_batch([keys, pa.array(numbers, pa.int64())], schema=NUMBERS.arrow))
        self.emit_many([f"key {number % 997}", number] for number in numbers)
        self.state["next"] = begin + BATCH
        time.sleep(0.002)


class Relay(BasicBolt):
    outputs = NUMBERS

    def process_columns(self, batch):
        self.emit_batch(batch)


class Ledger(BasicBolt):
    def initialize(self, config, context):
        self.file = FOLDER / f"ledger-{context.get_task_id()}"
        self.sums = self.state.table("sums", count="int64", sum="int64")

    def process_columns(self, batch):
        self.sums.add(batch["key"], {"count": 1, "sum": batch["number"]})

    def end_of_input(self):
        rows = self.sums.batch().to_pylist()
        self.file.write_text(json.dumps({row["key"]: [row["count"], row["sum"]] for row in rows}))


class ColumnLedger(Topology):
    config = {"topology.stmgrs": 2, "topology.reliability.mode": "EFFECTIVELY_ONCE"}
    numbers = Numbers.spec()
    relay = Relay.spec(par=2, inputs={numbers: Grouping.SHUFFLE})
    ledger = Ledger.spec(par=COUNTING, inputs={relay: Grouping.fields("key")})
