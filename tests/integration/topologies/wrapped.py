"""A builder that wraps all it is given in components of its own, as test harnesses do; argv: folder."""

import json
import sys
from collections import Counter
from pathlib import Path

import heronpy.api.api_constants as constants
from heronpy.api.bolt.bolt import Bolt
from heronpy.api.component.component_spec import HeronComponentSpec
from heronpy.api.spout.spout import Spout
from heronpy.api.stream import Grouping, Stream
from heronpy.api.topology import Topology, TopologyBuilder, TopologyType

FOLDER = Path(sys.argv[1])
SAME = "one id for all"
END = Stream(fields=["end"], name="end")


class Letters(Spout):
    """Knows nothing of ids: its wrapper adds them."""

    outputs = ["letter"]

    def initialize(self, config, context):
        self.sent = 0

    def next_tuple(self):
        self.emit(["ab"[self.sent % 2]])
        self.sent += 1


class Twice(Bolt):
    """Its tuples belong to the tree: that is acked only when they are."""

    outputs = ["letter"]

    def process(self, tup):
        self.emit(tup.values, anchors=[tup])
        self.emit(tup.values, anchors=[tup])


class Total(Bolt):
    """Says how many of each letter it got when all has come."""

    outputs = ["letter", "count"]

    def initialize(self, config, context):
        self.counts = Counter()

    def process(self, tup):
        self.counts[tup.values[0]] += 1

    def finish(self):
        for letter, count in self.counts.items():
            self.emit([letter, count])


class Collect(Bolt):
    outputs = []

    def initialize(self, config, context):
        self.name = context.get_topology_name()
        self.rows = []

    def process(self, tup):
        self.rows.append(list(tup.values))

    def finish(self):
        with open(FOLDER / self.name, "a") as results:
            print(json.dumps(sorted(self.rows)), file=results)


class WrappedSpout(Spout):
    """Calls the spout inside so many times; when all it emitted is acked, says that this was the end."""

    outputs = [END]

    @classmethod
    def spec(cls, name, par, inner, calls):
        path = f"{cls.__module__}.{cls.__name__}"
        config = {"inner": inner.__name__, "calls": calls}
        outputs = [*cls.outputs, *inner.outputs]
        return HeronComponentSpec(
            name, path, is_spout=True, par=par, inputs=None, outputs=outputs, config=config
        )

    def initialize(self, config, context):
        self.inner = globals()[config["inner"]](delegate=self)
        self.inner.initialize(config, context)
        self.calls = config["calls"]
        self.unacked = 0

    def next_tuple(self):
        if self.calls:
            self.calls -= 1
            self.inner.next_tuple()

    def emit(self, tup, tup_id=None, stream=Stream.DEFAULT_STREAM_ID, direct_task=None, need_task_ids=None):
        self.unacked += 1
        super().emit(tup, SAME, stream, direct_task, need_task_ids)

    def ack(self, tup_id):
        assert tup_id == SAME
        self.unacked -= 1
        if not self.calls and not self.unacked:
            super().emit(["all acked"], stream="end")

    def fail(self, tup_id):
        raise AssertionError(tup_id)


class WrappedBolt(Bolt):
    """Acks what the bolt inside has processed; passes the end on when it came from every task upstream."""

    outputs = [END]

    @classmethod
    def spec(cls, name, par, inputs, inner):
        path = f"{cls.__module__}.{cls.__name__}"
        outputs = [*cls.outputs, *inner.outputs]
        config = {"inner": inner.__name__}
        return HeronComponentSpec(
            name, path, is_spout=False, par=par, inputs=inputs, outputs=outputs, config=config
        )

    def initialize(self, config, context):
        self.inner = globals()[config["inner"]](delegate=self)
        self.inner.initialize(config, context)
        upstream = {stream.component_name for stream in context.get_this_sources()}
        self.ends = sum(len(context.get_component_tasks(name)) for name in upstream)

    def process(self, tup):
        if tup.stream != "end":
            self.inner.process(tup)
            self.ack(tup)
            return
        self.ends -= 1
        assert self.ends >= 0
        if not self.ends:
            if hasattr(self.inner, "finish"):
                self.inner.finish()
            super().emit(["nothing more"], stream="end")


class Harness(TopologyBuilder):
    """Wraps what is added, and collects what comes out of components that nobody reads."""

    def __init__(self, name):
        super().__init__(name)
        mode = constants.TopologyReliabilityMode.ATLEAST_ONCE
        self.set_config({constants.TOPOLOGY_RELIABILITY_MODE: mode, constants.TOPOLOGY_STMGRS: 2})
        self.specs = {}

    def add_spout(self, name, spout_cls, par, calls):
        return self.keep(WrappedSpout.spec(name, par, spout_cls, calls))

    def add_bolt(self, name, bolt_cls, par, inputs):
        return self.keep(WrappedBolt.spec(name, par, inputs, bolt_cls))

    def keep(self, spec):
        self.add_spec(spec)
        self.specs[spec.name] = spec
        return spec

    def write(self):
        bolts = [spec for spec in self.specs.values() if not spec.is_spout]
        parents = {
            bolt.name: {edge.stream.component_name for edge in bolt.get_protobuf().inputs} for bolt in bolts
        }
        for bolt in bolts:
            for parent in parents[bolt.name]:
                bolt.inputs[self.specs[parent]["end"]] = Grouping.ALL
        collect = self.add_bolt("collect", Collect, 1, inputs={})
        for name in self.specs.keys() - {"collect"}.union(*parents.values()):
            collect.inputs[self.specs[name]] = Grouping.ALL
            collect.inputs[self.specs[name]["end"]] = Grouping.ALL
        TopologyType(self.topology_name, (Topology,), self._construct_topo_class_dict()).write()


def doubled():
    harness = Harness("Doubled")
    first = harness.add_spout("first", Letters, 2, calls=10)
    second = harness.add_spout("second", Letters, 1, calls=10)
    harness.add_bolt("twice", Twice, 3, inputs={first: Grouping.SHUFFLE, second: Grouping.NONE})
    harness.add_bolt("all", Twice, 2, inputs={second: Grouping.ALL})
    return harness


def counted():
    harness = Harness("Counted")
    letters = harness.add_spout("letters", Letters, 1, calls=400)
    twice = harness.add_bolt("twice", Twice, 2, inputs={letters: Grouping.SHUFFLE})
    harness.add_bolt("total", Total, 3, inputs={twice: Grouping.fields("letter")})
    return harness


if __name__ == "__main__":
    doubled().write()
    counted().write()
