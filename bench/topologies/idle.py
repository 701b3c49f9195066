"""Instances with nothing to do, four bolts to a spout, fifty to a container: NOTES INSTANCES."""

import sys

from heronpy import Bolt, Grouping, Spout, Topology

INSTANCES = int(sys.argv[2])


class Silent(Spout):
    outputs = ["word"]

    def next_tuple(self) -> None:
        pass


class Waiting(Bolt):
    def process(self, tup: object) -> None:
        pass


class Idle(Topology):
    config = {"topology.stmgrs": max(INSTANCES // 50, 1)}
    silent = Silent.spec(par=INSTANCES // 5)
    waiting = Waiting.spec(par=INSTANCES - INSTANCES // 5, inputs={silent: Grouping.SHUFFLE})
