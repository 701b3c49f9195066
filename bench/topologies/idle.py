"""Ten instances with nothing to do."""

from heronpy import Bolt, Grouping, Spout, Topology


class Silent(Spout):
    outputs = ["word"]

    def next_tuple(self) -> None:
        pass


class Waiting(Bolt):
    def process(self, tup: object) -> None:
        pass


class Idle(Topology):
    silent = Silent.spec(par=2)
    waiting = Waiting.spec(par=8, inputs={silent: Grouping.SHUFFLE})
