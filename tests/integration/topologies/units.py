"""Numbers, relayed, counted by key and written down: SEND TAKE MODE LEAST RATE BURST FOLDER.

The spout emits in the unit SEND, the bolts take and emit in the unit TAKE: rows, batches or columns. Numbers
come at RATE a second until there is a file `over`, then those that are missing from LEAST at once.
Effectively once, the numbers go into files of a FileSink, else into a ledger that survives any kill.
"""

import mmap
import os
import struct
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from heronpy import BasicBolt, FileSink, Grouping, Schema, Spout, Topology

SEND, TAKE, MODE = sys.argv[1:4]
#: numbers in all, a second, and of a batch
LEAST, RATE, BURST = map(int, sys.argv[4:7])
FOLDER = Path(sys.argv[7])
SPLITS = 4
KEYS = 97
#: numbers that may wait for their acks
PENDING = 100 * BURST
TRACKED, SAVED = MODE == "ATLEAST_ONCE", MODE == "EFFECTIVELY_ONCE"
ENTRY = struct.Struct("<IIII")

NUMBERED = Schema(number=pa.int64())
RELAYED = Schema(key=pa.int64(), number=pa.int64(), relay=pa.int64())
COUNTED = Schema(number=pa.int64(), relay=pa.int64(), counter=pa.int64(), seen=pa.int64())


def outputs_of(schema, *units):
    return schema if "columns" in units else schema.names


def batch_of(schema, *columns):
    return pa.record_batch([pa.array(column, pa.int64()) for column in columns], schema=schema.arrow)


def filled(size, value):
    return np.full(size, value, np.int64)


class Numbers(Spout):
    """Number n is at position n // SPLITS of the split n % SPLITS.

    How far each split has been emitted and acked is in a file. A new process goes on behind what was emitted,
    or where acks are awaited, behind what was acked. Effectively once, its state says where. Another file has
    the numbers that are emitted again: split, first position, and the one behind the last.
    """

    outputs = outputs_of(NUMBERED, SEND, TAKE)
    splits = SPLITS

    def initialize(self, config, context):
        with (FOLDER / "progress").open("r+b") as file:
            self.progress = memoryview(mmap.mmap(file.fileno(), 0)).cast("Q")
        self.repeated = os.open(FOLDER / "again", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.next, self.done, self.again = {}, {}, []
        self.begun, self.emitted = time.monotonic(), 0

    def next_tuple(self):
        if self.again:
            self.send(*self.again.pop())
            return
        if not (FOLDER / "over").exists() and self.emitted > RATE / 2 * (time.monotonic() - self.begun):
            return
        left = [split for split in map(int, self.splits) if self.burst(split)]
        if left == [] and self.splits:
            self.finish()

    def burst(self, split):
        """Emit some numbers of a split; whether there were any left."""
        begin = self.position(split)
        end = min(begin + BURST, self.end(split, begin))
        if begin == end:
            return False
        if SAVED:
            self.state[str(split)] = end
        self.next[split] = end
        # noted first: what is emitted once must not be emitted again
        self.progress[2 * split] = max(end, self.progress[2 * split])
        self.emitted += end - begin
        if SEND == "rows":
            for position in range(begin, end):
                self.send(split, position, position + 1)
        else:
            self.send(split, begin, end)
        return True

    def position(self, split):
        if SAVED:
            return self.state.get(str(split), 0)
        if split not in self.next:
            self.next[split] = self.progress[2 * split + TRACKED]
            self.note_again(split, self.next[split], self.progress[2 * split])
        return self.next[split]

    def note_again(self, split, begin, end):
        if begin != end:
            os.write(self.repeated, b"%d %d %d\n" % (split, begin, end))

    def end(self, split, position):
        """Behind the last number; it is fixed once, whoever dies and goes back after that."""
        file = FOLDER / f"end-{split}"
        if file.exists():
            return int(file.read_text())
        if not (FOLDER / "over").exists():
            return position + BURST
        fixed = FOLDER / f"end-{split}.new"
        fixed.write_text(str(max(LEAST // SPLITS, self.progress[2 * split])))
        fixed.rename(file)
        return int(file.read_text())

    def send(self, split, begin, end):
        tup_id = (split, begin, end) if TRACKED else None
        first, last = begin * SPLITS + split, end * SPLITS + split
        if SEND == "rows":
            self.emit([first], tup_id=tup_id)
        elif SEND == "batches":
            self.emit_many([[number] for number in range(first, last, SPLITS)], tup_id=tup_id)
        else:
            self.emit_batch(batch_of(NUMBERED, np.arange(first, last, SPLITS)), tup_id=tup_id)

    def ack(self, tup_id):
        split, begin, end = tup_id
        done = self.done.setdefault(split, {})
        done[begin] = end
        while (reached := self.progress[2 * split + 1]) in done:
            self.progress[2 * split + 1] = done.pop(reached)

    def fail(self, tup_id):
        self.note_again(*tup_id)
        self.again.append(tup_id)


class Relay(BasicBolt):
    outputs = outputs_of(RELAYED, TAKE)

    def initialize(self, config, context):
        self.task = context.get_task_id()


class RowRelay(Relay):
    def process(self, tup):
        self.emit([tup.number % KEYS, tup.number, self.task])


class BatchRelay(Relay):
    def process_rows(self, rows):
        self.emit_many([[number % KEYS, number, self.task] for (number,) in rows])


class ColumnRelay(Relay):
    def process_columns(self, batch):
        numbers = batch["number"].to_numpy()
        self.emit_batch(batch_of(RELAYED, numbers % KEYS, numbers, filled(len(numbers), self.task)))


class Count(BasicBolt):
    """Tells of each number how many of its key have come by then."""

    outputs = outputs_of(COUNTED, TAKE)

    def initialize(self, config, context):
        self.task = context.get_task_id()

    def counted(self, tup):
        seen = self.state[tup.key] = self.state.get(tup.key, 0) + 1
        return [tup.number, tup.relay, self.task, seen]


class RowCount(Count):
    def process(self, tup):
        self.emit(self.counted(tup))


class BatchCount(Count):
    def process_batch(self, tuples):
        self.emit_many([self.counted(tup) for tup in tuples])


class ColumnCount(Count):
    def initialize(self, config, context):
        super().initialize(config, context)
        self.table = self.state.table("seen", seen="int64")

    def process_columns(self, batch):
        keys, size = batch["key"], len(batch)
        before = self.table.get([keys])["seen"]
        self.table.add([keys], {"seen": 1})
        # the place of each row among those of its key in this batch
        order = np.argsort(keys.to_numpy(), kind="stable")
        ordered = keys.to_numpy()[order]
        place = np.empty(size, np.int64)
        place[order] = np.arange(size) - np.searchsorted(ordered, ordered)
        seen = before + place + 1
        self.emit_batch(batch_of(COUNTED, batch["number"], batch["relay"], filled(size, self.task), seen))


class Ledger(BasicBolt):
    """Entries never straddle a page, so that a kill leaves whole ones."""

    def initialize(self, config, context):
        path = FOLDER / f"ledger-{context.get_task_id()}"
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


class RowLedger(Ledger):
    def process(self, tup):
        os.write(self.file, ENTRY.pack(*tup.values))


class BatchLedger(Ledger):
    def process_rows(self, rows):
        os.write(self.file, b"".join(ENTRY.pack(*row) for row in rows))


class ColumnLedger(Ledger):
    def process_columns(self, batch):
        os.write(
            self.file,
            np.column_stack([column.to_numpy() for column in batch.columns]).astype("<u4").tobytes(),
        )


relays = {"rows": RowRelay, "batches": BatchRelay, "columns": ColumnRelay}
counters = {"rows": RowCount, "batches": BatchCount, "columns": ColumnCount}
ledgers = {"rows": RowLedger, "batches": BatchLedger, "columns": ColumnLedger}


class Units(Topology):
    config = {
        "topology.stmgrs": 2,
        "topology.reliability.mode": MODE,
        "topology.max.spout.pending": PENDING if SEND == "rows" else 100,
    }
    numbers = Numbers.spec(par=2)
    relay = relays[TAKE].spec(par=2, inputs={numbers: Grouping.SHUFFLE})
    count = counters[TAKE].spec(par=2, inputs={relay: Grouping.fields("key")})
    if SAVED:
        sink = FileSink.spec(par=2, inputs={count: Grouping.SHUFFLE}, folder=str(FOLDER / "out"))
    else:
        sink = ledgers[TAKE].spec(par=2, inputs={count: Grouping.fields("number")})
