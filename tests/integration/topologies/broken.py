"""User code that goes wrong in a way chosen on the command line."""

import sys

from heronpy import Bolt, Grouping, Spout, Topology

HOW = sys.argv[1]


class Source(Spout):
    outputs = ["value"]

    def next_tuple(self):
        print("a print of the user's")
        self.emit([1])


class Broken(Bolt):
    def initialize(self, config, context):
        if HOW == "raise":
            raise ValueError("no such table")
        if HOW == "import":
            import a_module_that_is_not_there  # noqa: F401
        if HOW == "exit":
            sys.exit("I give up")

    def process(self, tup):
        print(tup.vlaue)


class BrokenTopology(Topology):
    source = Source.spec()
    broken = Broken.spec(inputs={source: Grouping.SHUFFLE})
