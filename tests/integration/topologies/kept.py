"""A BasicBolt that counts in self.state: all tuples by shuffle, or each key where it belongs."""

import sys
from pathlib import Path

from heronpy import BasicBolt, Grouping, Spout, Topology

GROUPING, TASKS, FOLDER = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])


class Numbers(Spout):
    """Half of them at once, and the others when somebody wants more."""

    outputs = ["number", "key"]
    splits = ["all"]

    def next_tuple(self):
        number = self.state.get("all", 0)
        if number < (400 if (FOLDER / "more").exists() else 200):
            self.state["all"] = number + 1
            self.emit([number, f"k{number % 10}"])


class Count(BasicBolt):
    def initialize(self, config, context):
        self.file = FOLDER / f"count-{context.get_task_id()}"

    def process(self, tup):
        key = tup.key if GROUPING == "fields" else "n"
        self.state[key] = self.state.get(key, 0) + 1
        whole = self.file.with_name(f"{self.file.name}.new")
        whole.write_text(str(sum(self.state.values())))
        whole.replace(self.file)


class Kept(Topology):
    config = {"topology.reliability.mode": "EFFECTIVELY_ONCE"}
    numbers = Numbers.spec()
    count = Count.spec(
        par=TASKS,
        inputs={numbers: Grouping.fields("key") if GROUPING == "fields" else Grouping.SHUFFLE},
    )
