"""When a spout hears of its tuples: after the next_tuple() that emitted them, never within emit()."""

from __future__ import annotations

from typing import Any

from heronpy import Bolt, Spout, Stream, Topology, TopologyContext, Tuple
from heronpy.testing import TopologyTest


class Ignore(Bolt):
    def process(self, tup: Tuple) -> None:
        self.ack(tup)


class Bookkeeper(Spout):
    """Notes what is pending after it has emitted it, as most spouts do."""

    outputs = ["number"]

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        self.pending: dict[int, str] = {}
        self.story: list[str] = []
        self.number = 0

    def next_tuple(self) -> None:
        for _ in range(2):
            self.emit([self.number], tup_id=self.number)
            self.pending[self.number] = f"number {self.number}"
            self.number += 1
        self.story.append("returned")

    def ack(self, tup_id: int) -> None:
        self.story.append(self.pending.pop(tup_id))


class Chain(Spout):
    """Emits the next link when the last one is done."""

    outputs = ["link"]

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        self.emit([0], tup_id=0)

    def next_tuple(self) -> None:
        """Everything happens in ack()."""

    def ack(self, tup_id: int) -> None:
        self.emit([tup_id + 1], tup_id=tup_id + 1)


class Farewell(Spout):
    """Says goodbye when it has emitted all and all is done, wherever it notices that first."""

    outputs = ["number", Stream(["text"], name="goodbye")]

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        self.left = 3
        self.open = 0

    def next_tuple(self) -> None:
        if self.left:
            self.left -= 1
            self.open += 1
            self.emit([self.left], tup_id=self.left)
            self.part()

    def ack(self, tup_id: int) -> None:
        self.open -= 1
        self.part()

    def part(self) -> None:
        if self.left == self.open == 0:
            self.emit(["goodbye"], stream="goodbye")


class Reports(Topology):
    bookkeeper = Bookkeeper.spec()
    chain = Chain.spec()
    farewell = Farewell.spec()
    ignore = Ignore.spec(inputs=[bookkeeper, chain, farewell])


def test_a_spout_may_note_a_tuple_as_pending_after_it_has_emitted_it() -> None:
    with TopologyTest(Reports) as run:
        run.run_spouts(calls=2)

        bookkeeper = run.component("bookkeeper")
        assert bookkeeper.pending == {}
        assert bookkeeper.story == ["returned", "number 0", "number 1", "returned", "number 2", "number 3"]


def test_an_ack_that_emits_goes_on_one_tuple_per_call() -> None:
    with TopologyTest(Reports) as run:
        run.run_spouts(calls=3)

        assert run.emitted("chain") == [[0], [1], [2], [3]]


def test_what_waits_for_all_acks_happens_once() -> None:
    with TopologyTest(Reports) as run:
        run.run_spouts(calls=5)

        assert run.emitted("farewell", "goodbye") == [["goodbye"]]
