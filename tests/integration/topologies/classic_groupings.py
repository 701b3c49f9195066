"""The classic grouping results in one topology: each sink writes down what it got. FOLDER UNIT.

Words are emitted and taken in this unit: rows, batches or columns.
"""

import json
import sys
from collections import Counter
from pathlib import Path

import pyarrow as pa

from heronpy import Bolt, Grouping, Schema, Spout, Topology

FOLDER, UNIT = Path(sys.argv[1]), sys.argv[2]
WORD = Schema(word=pa.string())
#: words of a batch, at most
BATCH = 7
TICK = {"topology.tick.tuple.freq.secs": 0.1}


def send(component, words):
    """Emit words in the unit that is asked for."""
    if UNIT == "columns":
        component.emit_batch(pa.record_batch([pa.array(words, pa.string())], schema=WORD.arrow))
    elif UNIT == "batches":
        component.emit_many([[word] for word in words])
    else:
        for word in words:
            component.emit([word])


class AlternatingWords(Spout):
    """A, B, A, B, …: ten tuples per task, or as many as the config says."""

    outputs = WORD if UNIT == "columns" else WORD.names

    def initialize(self, config, context):
        self.left = config.get("tuples", 10)
        self.turn = 0

    def next_tuple(self):
        words = ["AB"[turn % 2] for turn in range(self.turn, min(self.turn + BATCH, self.left))]
        if words:
            send(self, words)
            self.turn += len(words)


class Taking(Bolt):
    """Takes words in the unit that is asked for."""

    if UNIT == "columns":

        def process_columns(self, batch):
            self.take(batch["word"].to_pylist())

    elif UNIT == "batches":

        def process_batch(self, tuples):
            self.take([tup.word for tup in tuples])

    else:

        def process(self, tup):
            self.take([tup.word])


class Identity(Taking):
    outputs = WORD if UNIT == "columns" else WORD.names

    def take(self, words):
        send(self, words)


class Twice(Identity):
    def take(self, words):
        send(self, words)
        send(self, words)


class DistinctWords(Taking):
    """Emits how many distinct words it has seen, whenever that changes."""

    outputs = ["task", "distinct"]

    def initialize(self, config, context):
        self.task = context.get_task_id()
        self.words = set()
        self.emit([self.task, 0])

    def take(self, words):
        for word in words:
            if word not in self.words:
                self.words.add(word)
                self.emit([self.task, len(self.words)])


def replace(path, result):
    """Whole or not at all: the test reads meanwhile."""
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(result))
    draft.rename(path)


class WordSink(Taking):
    def initialize(self, config, context):
        self.counts = Counter()
        self.path = FOLDER / f"{context.get_component_id()}-{context.get_task_id()}.json"

    def take(self, words):
        self.counts.update(words)

    def process_tick(self, tup):
        replace(self.path, self.counts)


class DistinctSink(Bolt):
    def initialize(self, config, context):
        self.latest = {}
        self.path = FOLDER / f"{context.get_component_id()}-{context.get_task_id()}.json"

    def process(self, tup):
        self.latest[tup["task"]] = tup.distinct

    def process_tick(self, tup):
        replace(self.path, self.latest)


class Classic(Topology):
    config = {"topology.stmgrs": 2}

    one = AlternatingWords.spec(par=1)
    three = AlternatingWords.spec(par=3)
    also_three = AlternatingWords.spec(par=3)
    many = AlternatingWords.spec(par=1, config={"tuples": 400})

    all_bolt = Identity.spec(par=2, inputs={one: Grouping.ALL})
    all_result = WordSink.spec(inputs={all_bolt: Grouping.GLOBAL}, config=TICK)

    three_result = WordSink.spec(inputs={three: Grouping.GLOBAL}, config=TICK)

    none_bolt = Identity.spec(par=3, inputs={one: Grouping.NONE})
    none_result = WordSink.spec(inputs={none_bolt: Grouping.GLOBAL}, config=TICK)

    shuffle_bolt = Identity.spec(par=3, inputs={one: Grouping.SHUFFLE})
    shuffle_result = WordSink.spec(inputs={shuffle_bolt: Grouping.GLOBAL}, config=TICK)

    twice_bolt = Twice.spec(inputs={one: Grouping.SHUFFLE})
    twice_result = WordSink.spec(inputs={twice_bolt: Grouping.GLOBAL}, config=TICK)

    both_result = WordSink.spec(
        par=2, inputs={three: Grouping.SHUFFLE, also_three: Grouping.fields("word")}, config=TICK
    )

    global_bolt = DistinctWords.spec(par=3, inputs={one: Grouping.GLOBAL})
    global_result = DistinctSink.spec(inputs={global_bolt: Grouping.GLOBAL}, config=TICK)

    fields_bolt = DistinctWords.spec(par=2, inputs={many: Grouping.fields("word")})
    fields_result = DistinctSink.spec(inputs={fields_bolt: Grouping.GLOBAL}, config=TICK)
