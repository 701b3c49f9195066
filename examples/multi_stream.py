"""Splits readings into two streams, each read by a bolt of its own. Its name is given when it is submitted.

Run it:
    heronpy submit examples/multi_stream.py readings
    heronpy logs readings alarm -f
    heronpy kill readings
"""

import itertools
import sys
import time

from heronpy import Bolt, Grouping, Spout, Stream, TopologyBuilder


class Sensor(Spout):
    """Odd readings are errors: they go out on a stream of their own, with fields of their own."""

    outputs = [Stream(fields=["sensor", "value"]), Stream(fields=["sensor", "reason"], name="errors")]

    def initialize(self, config, context):
        self.sensor = f"sensor-{context.get_task_id()}"
        self.values = itertools.cycle(range(100))

    def next_tuple(self):
        value = next(self.values)
        if value % 2:
            self.emit([self.sensor, f"{value} is odd"], stream="errors")
        else:
            self.emit([self.sensor, value])
        time.sleep(0.05)


class Average(Bolt):
    def process(self, tup):
        count, total = self.state.get(tup.sensor, (0, 0))
        self.state[tup.sensor] = (count + 1, total + tup.value)


class Alarm(Bolt):
    def process(self, tup):
        self.log(f"{tup.sensor}: {tup.reason}")


if __name__ == "__main__":
    builder = TopologyBuilder(name=sys.argv[1])
    sensor = builder.add_spout("sensor", Sensor, par=2)
    builder.add_bolt("average", Average, par=2, inputs={sensor: Grouping.fields("sensor")})
    builder.add_bolt("alarm", Alarm, par=1, inputs={sensor["errors"]: Grouping.GLOBAL})
    builder.build_and_submit()
