"""Apache Heron's way to keep a state: given once, filled before each checkpoint; argv: a name."""

import sys
import time
from collections import Counter

import heronpy.api.api_constants as constants
from heronpy.api.bolt.bolt import Bolt
from heronpy.api.spout.spout import Spout
from heronpy.api.state.stateful_component import StatefulComponent
from heronpy.api.stream import Grouping
from heronpy.api.topology import TopologyBuilder

COLOURS = ("red", "green", "blue", "white", "black")


class Colours(Spout, StatefulComponent):
    """Its place is a plain attribute, which only pre_save puts into the state."""

    outputs = ["colour"]

    def init_state(self, stateful_state):
        self.remembered = stateful_state

    def pre_save(self, checkpoint_id):
        self.remembered.put(self.task, self.sent)

    def initialize(self, config, context):
        self.task = context.get_task_id()
        self.sent = self.remembered.get(self.task, 0)

    def next_tuple(self):
        self.emit([COLOURS[self.sent % len(COLOURS)]], tup_id="the same for all")
        self.sent += 1
        time.sleep(0.001)


class Tally(Bolt, StatefulComponent):
    def init_state(self, stateful_state):
        self.remembered = stateful_state

    def pre_save(self, checkpoint_id):
        for colour, count in self.counts.items():
            self.remembered.put(colour, count)

    def initialize(self, config, context):
        self.counts = Counter(dict(self.remembered.items()))

    def process(self, tup):
        self.counts[tup.values[0]] += 1
        self.ack(tup)


if __name__ == "__main__":
    builder = TopologyBuilder(name=sys.argv[1])
    colours = builder.add_spout("colours", Colours, par=2)
    builder.add_bolt("tally", Tally, par=2, inputs={colours: Grouping.fields("colour")})
    builder.set_config(
        {
            constants.TOPOLOGY_RELIABILITY_MODE: constants.TopologyReliabilityMode.EFFECTIVELY_ONCE,
            constants.TOPOLOGY_STATEFUL_CHECKPOINT_INTERVAL_SECONDS: 600,
        }
    )
    builder.build_and_submit()
