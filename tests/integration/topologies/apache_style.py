"""One small topology per style of Apache Heron's examples, through its import paths; argv: folder, name."""

import json
import logging
import sys
from collections import Counter
from pathlib import Path

import heronpy.api.api_constants as constants
from heronpy.api import global_metrics
from heronpy.api.bolt.bolt import Bolt
from heronpy.api.bolt.window_bolt import SlidingWindowBolt, TumblingWindowBolt
from heronpy.api.custom_grouping import ICustomGrouping
from heronpy.api.spout.spout import Spout
from heronpy.api.state.stateful_component import StatefulComponent
from heronpy.api.stream import Grouping, Stream
from heronpy.api.task_hook import ITaskHook
from heronpy.api.topology import Topology, TopologyBuilder

FOLDER = Path(sys.argv[1])
COLOURS = ("red", "green", "blue")
TICK = {constants.TOPOLOGY_TICK_TUPLE_FREQ_SECS: 0.1}


def write(name, task, found):
    """A result appears whole or not at all: the test reads while it is replaced."""
    draft = FOLDER / f".{name}-{task}"
    draft.write_text(json.dumps(found))
    draft.rename(FOLDER / f"{name}-{task}.json")


class Colours(Spout):
    """Thirty tuples per task, red, green, blue in turn; each is acked before the spout says so."""

    outputs = ["colour"]

    def initialize(self, config, context):
        self.sent = 0
        self.unacked = {}
        self.logger.info("config %s, context %s", config, context)

    def next_tuple(self):
        if self.sent < 30:
            colour = COLOURS[self.sent % 3]
            self.emit([colour], tup_id=self.sent)
            self.unacked[self.sent] = colour
            self.sent += 1

    def ack(self, tup_id):
        del self.unacked[tup_id]


class NoisyColours(Colours):
    """Tells about every tenth tuple on a stream of its own."""

    outputs = ["colour", Stream(fields=["note"], name="notes")]

    def next_tuple(self):
        before = self.sent
        Colours.next_tuple(self)
        if self.sent > before and self.sent % 10 == 0:
            self.emit([f"{self.sent} sent"], stream="notes")


class Tally(Bolt):
    """Counts what comes, and writes the counts down at every tick."""

    def initialize(self, config, context):
        self.where = f"{context.get_topology_name()}.{context.get_component_id()}", context.get_task_id()
        self.counts = Counter()

    def process(self, tup):
        self.counts[self.key(tup)] += 1
        global_metrics.safe_incr("tallied")
        self.ack(tup)

    def key(self, tup):
        return tup.values[0]

    def process_tick(self, tup):
        assert Bolt.is_tick(tup)
        self.log("a tick")
        write(*self.where, self.counts)


class StreamTally(Tally):
    def key(self, tup):
        return tup.stream


class HalfTally(Tally):
    """Acks one tuple and fails the next."""

    def process(self, tup):
        self.counts["seen"] += 1
        if self.counts["seen"] % 2:
            self.counts["acked"] += 1
            self.ack(tup)
        else:
            self.counts["failed"] += 1
            self.fail(tup)


class RememberingTally(Tally, StatefulComponent):
    def init_state(self, stateful_state):
        self.remembered = stateful_state

    def pre_save(self, checkpoint_id):
        for colour, count in self.counts.items():
            self.remembered.put(colour, count)

    def process(self, tup):
        self.remembered.put("state", "given")
        Tally.process(self, tup)


class OnlyLast(ICustomGrouping):
    """Everything goes to the last task."""

    def prepare(self, context, component, stream, target_tasks):
        logging.getLogger().info("%s:%s goes to the last of %s", component, stream, str(target_tasks))
        self.tasks = target_tasks

    def choose_tasks(self, values):
        return [self.tasks[-1]]


class Slides(SlidingWindowBolt):
    """Windows overlap: the largest one saw everything."""

    def initialize(self, config, context):
        super().initialize(config, context)
        self.where = f"{context.get_topology_name()}.{context.get_component_id()}", context.get_task_id()
        self.largest = 0

    def processWindow(self, window_info, tuples):  # noqa: N802 - Apache's name
        self.largest = max(self.largest, len(list(tuples)))
        write(*self.where, {"largest": self.largest})


class Tumbles(TumblingWindowBolt):
    """Windows do not overlap: together they saw everything once."""

    def initialize(self, config, context):
        super().initialize(config, context)
        self.where = f"{context.get_topology_name()}.{context.get_component_id()}", context.get_task_id()
        self.total = 0

    def processWindow(self, window_info, tuples):  # noqa: N802 - Apache's name
        assert window_info.start <= window_info.end
        self.total += len(list(tuples))
        write(*self.where, {"total": self.total})


class Listener(ITaskHook):
    """Counts all it is told, and writes it down when it is cleaned up."""

    def prepare(self, conf, context):
        self.where = f"{context.get_topology_name()}.{context.get_component_id()}.hook", context.get_task_id()
        self.heard = Counter(prepare=1)

    def clean_up(self):
        write(*self.where, self.heard)

    def emit(self, emit_info):
        self.heard[f"emit on {emit_info.stream_id}"] += 1

    def spout_ack(self, spout_ack_info):
        self.heard["spout_ack"] += 1

    def spout_fail(self, spout_fail_info):
        self.heard["spout_fail"] += 1

    def bolt_execute(self, bolt_execute_info):
        self.heard["bolt_execute"] += 1

    def bolt_ack(self, bolt_ack_info):
        self.heard["bolt_ack"] += 1

    def bolt_fail(self, bolt_fail_info):
        self.heard["bolt_fail"] += 1


class Streams(Topology):
    spout = NoisyColours.spec(par=2)
    colours = Tally.spec(par=2, inputs={spout: Grouping.fields("colour")}, config=TICK)
    streams = StreamTally.spec(inputs={spout: Grouping.ALL, spout["notes"]: Grouping.ALL}, config=TICK)


class Chosen(Topology):
    spout = Colours.spec()
    by_instance = Tally.spec(par=3, inputs={spout: Grouping.custom(OnlyLast())}, config=TICK)
    by_path = Tally.spec(par=2, inputs={spout: Grouping.custom("__main__.OnlyLast")}, config=TICK)


class Hooked(Topology):
    config = {constants.TOPOLOGY_AUTO_TASK_HOOKS: ["__main__.Listener"]}
    spout = NoisyColours.spec()
    half = HalfTally.spec(inputs=[spout], config=TICK)


def build(name):
    builder = TopologyBuilder(name=name)
    spout = builder.add_spout("spout", Colours, par=2)
    every = {spout: Grouping.SHUFFLE}
    builder.add_bolt("count", RememberingTally, par=1, inputs={spout: Grouping.fields("colour")}, config=TICK)
    builder.add_bolt("half", HalfTally, par=1, inputs=every, config=TICK)
    sliding = {SlidingWindowBolt.WINDOW_DURATION_SECS: 60, SlidingWindowBolt.WINDOW_SLIDEINTERVAL_SECS: 1}
    builder.add_bolt("slides", Slides, par=1, inputs=every, config=sliding)
    tumbling = {TumblingWindowBolt.WINDOW_DURATION_SECS: 1}
    builder.add_bolt("tumbles", Tumbles, par=1, inputs=every, config=tumbling)
    mode = constants.TopologyReliabilityMode.ATLEAST_ONCE
    builder.set_config(
        {constants.TOPOLOGY_RELIABILITY_MODE: mode, constants.TOPOLOGY_MAX_SPOUT_PENDING: 100000000}
    )
    builder.build_and_submit()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        print("which folder, and what name?")
        sys.exit(1)
    build(sys.argv[2])
    for topology in (Streams, Chosen, Hooked):
        topology.write()
