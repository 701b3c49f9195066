"""One stream of each type of column, sent and read as columns and as rows: FOLDER CONTAINERS.

`values` there has the type and the values of each. What a bolt has seen is written at the end of input.
"""

import json
import pickle
import sys
from pathlib import Path

import pyarrow as pa

from heronpy import Bolt, Grouping, Schema, Spout, Stream, Topology
from heronpy.kernel.flow.column_split import rows_of

FOLDER = Path(sys.argv[1])
VALUES = pickle.loads((FOLDER / "values").read_bytes())
STREAMS = {
    f"{form}_{name}": Schema(pa.schema([(name, kind)]))
    for form in ("rows", "columns")
    for name, (kind, _) in VALUES.items()
}


class Values(Spout):
    """All values of a type together, one alone, and none."""

    outputs = [Stream(schema, name=name) for name, schema in STREAMS.items()]

    def next_tuple(self):
        for name, (kind, values) in VALUES.items():
            batch = pa.record_batch([pa.array(values, kind)], names=[name])
            self.emit_batch(batch, stream=f"columns_{name}")
            self.emit_batch(batch.slice(1, 1), stream=f"columns_{name}")
            self.emit_batch(batch.slice(0, 0), stream=f"columns_{name}")
            self.emit_many([[value] for value in values], stream=f"rows_{name}")
            self.emit([values[1]], stream=f"rows_{name}")
        self.finish()


class SeenRows(Bolt):
    def initialize(self, config, context):
        self.file = FOLDER / f"seen-{context.get_component_id()}"
        self.seen = {}

    def process(self, tup):
        self.seen.setdefault(tup.stream, []).extend(map(repr, tup.values))

    def end_of_input(self):
        self.file.write_text(json.dumps(self.seen))


class SeenColumns(SeenRows):
    def process_columns(self, batch, origin):
        assert batch.schema == STREAMS[origin.stream].arrow
        self.seen.setdefault(origin.stream, []).extend(repr(value) for (value,) in rows_of(batch))


def all_of(source):
    return {source[name]: Grouping.SHUFFLE for name in STREAMS}


class ColumnValues(Topology):
    config = {"topology.stmgrs": int(sys.argv[2])}
    values = Values.spec(par=1)
    rows = SeenRows.spec(par=1, inputs=all_of(values))
    columns = SeenColumns.spec(par=1, inputs=all_of(values))
