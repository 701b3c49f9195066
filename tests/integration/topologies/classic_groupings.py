"""The classic grouping results in one topology: each sink writes down what it got."""

import json
import sys
from collections import Counter
from pathlib import Path

from heronpy import Bolt, Grouping, Spout, Topology

FOLDER = Path(sys.argv[1])
TICK = {"topology.tick.tuple.freq.secs": 0.1}


class AlternatingWords(Spout):
    """A, B, A, B, …: ten tuples per task, or as many as the config says."""

    outputs = ["word"]

    def initialize(self, config, context):
        self.left = config.get("tuples", 10)
        self.turn = 0

    def next_tuple(self):
        if self.turn < self.left:
            self.emit(["AB"[self.turn % 2]])
            self.turn += 1


class Identity(Bolt):
    outputs = ["word"]

    def process(self, tup):
        self.emit([tup.word])


class Twice(Bolt):
    outputs = ["word"]

    def process(self, tup):
        self.emit([tup.word])
        self.emit([tup.word])


class DistinctWords(Bolt):
    """Emits how many distinct words it has seen, whenever that changes."""

    outputs = ["task", "distinct"]

    def initialize(self, config, context):
        self.task = context.get_task_id()
        self.words = set()
        self.emit([self.task, 0])

    def process(self, tup):
        if tup.word not in self.words:
            self.words.add(tup.word)
            self.emit([self.task, len(self.words)])


def replace(path, result):
    """Whole or not at all: the test reads meanwhile."""
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(result))
    draft.rename(path)


class WordSink(Bolt):
    def initialize(self, config, context):
        self.counts = Counter()
        self.path = FOLDER / f"{context.get_component_id()}-{context.get_task_id()}.json"

    def process(self, tup):
        self.counts[tup.word] += 1

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
