"""One spout with nothing to say and one bolt, in one container."""

from heronpy import Bolt, Grouping, Spout, Topology


class Silent(Spout):
    outputs = ["word"]

    def next_tuple(self) -> None:
        pass


class Waiting(Bolt):
    def process(self, tup: object) -> None:
        pass


class Smallest(Topology):
    silent = Silent.spec(par=1)
    waiting = Waiting.spec(par=1, inputs={silent: Grouping.SHUFFLE})
