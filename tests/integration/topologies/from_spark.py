"""Takes what Spark writes, and gives it back to Spark."""

import sys

from heronpy import BasicBolt, Grouping, Topology
from heronpy.spark import IngestSpout, SegmentSink

MODE = sys.argv[1] if len(sys.argv) > 1 else "EFFECTIVELY_ONCE"


class Double(BasicBolt):
    outputs = ["number", "twice"]

    def process(self, tup):
        self.emit([tup.number, 2 * tup.number])


class FromSpark(Topology):
    config = {
        "topology.stmgrs": 2,
        "topology.reliability.mode": MODE,
        "topology.stateful.checkpoint.interval.seconds": 0.5,
    }
    rows = IngestSpout.spec(par=2, schema={"number": "int64", "word": "string"}, splits=4)
    double = Double.spec(par=2, inputs={rows: Grouping.SHUFFLE})
    out = SegmentSink.spec(
        par=2, inputs={double: Grouping.SHUFFLE}, schema={"number": "int64", "twice": "int64"}
    )
