"""Words without end from a source with positions, counted by key: the state tells whether all went well."""

import sys
import time
from pathlib import Path

from heronpy import BasicBolt, Bolt, Grouping, Spout, Topology

RELIABILITY, KEYS, SLOW, FOLDER = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), Path(sys.argv[4])
TRACKED = RELIABILITY == "ATLEAST_ONCE"
SPLITS = 8
#: failed words that come again in one burst
AGAIN = 500
#: has the seconds to rest after each burst
BRAKE = FOLDER / "brake"
#: words between two looks at the brake
BURST = 20


class Words(Spout):
    outputs = ["word"]
    splits = SPLITS

    def initialize(self, config, context):
        self.again = []

    def next_tuple(self):
        for split, position in self.again[:AGAIN]:
            self.emit([(position * 7919 + int(split) * 104729) % KEYS], tup_id=(split, position))
        del self.again[:AGAIN]
        if (FOLDER / "stop").exists():
            return
        state = self.state
        for split in self.splits:
            first = state.get(split, 0)
            for position in range(first, first + BURST):
                tup_id = (split, position) if TRACKED else None
                self.emit([(position * 7919 + int(split) * 104729) % KEYS], tup_id=tup_id)
            state[split] = first + BURST
        if BRAKE.exists():
            time.sleep(float(BRAKE.read_text()))

    def fail(self, tup_id):
        with (FOLDER / "replayed").open("a") as file:
            file.write("1\n")
        self.again.append(tup_id)


class Pass(BasicBolt):
    outputs = ["word"]

    def process(self, tup):
        self.emit([tup.word])


class Count(Bolt):
    outputs = ["word", "count"]

    def drain(self):
        """Nothing waits in here; that it is called is a step of its own."""

    def process(self, tup):
        count = self.state[tup.word] = self.state.get(tup.word, 0) + 1
        self.emit([tup.word, count], anchors=[tup])
        self.ack(tup)
        if SLOW:
            time.sleep(SLOW)

    def on_config(self, config):
        with (FOLDER / "greetings").open("a") as file:
            file.write(f"{config.get('live.words.greeting')}\n")


class Total(Bolt):
    def process(self, tup):
        self.state["tuples"] = self.state.get("tuples", 0) + 1
        self.ack(tup)


class LiveWords(Topology):
    config = {
        "topology.stmgrs": 2,
        "topology.reliability.mode": RELIABILITY,
        "topology.message.timeout.secs": 30,
        "topology.max.spout.pending": 20_000,
    }
    words = Words.spec(par=2)
    relay = Pass.spec(par=2, inputs={words: Grouping.SHUFFLE})
    count = Count.spec(par=2, inputs={relay: Grouping.fields("word")})
    total = Total.spec(inputs={count: Grouping.SHUFFLE})
