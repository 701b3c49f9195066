"""At least once, seen by a topology: ack, fail and timeout come back to the spout."""

from __future__ import annotations

import os
import random
from typing import Any

import pytest

from heronpy import BasicBolt, Bolt, Grouping, Spout, Topology, TopologyBuilder
from heronpy.instances.acking.edges import random_bits
from heronpy.kernel.errors import TupleTooLarge
from heronpy.testing import TopologyTest
from heronpy.tuple import Tuple

AT_LEAST_ONCE = {"topology.reliability.mode": "ATLEAST_ONCE", "topology.message.timeout.secs": 10}


class Numbers(Spout):
    outputs = ["number"]

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.left = list(range(int(config.get("numbers", 10))))
        self.acked: list[int] = []
        self.failed: list[int] = []

    def next_tuple(self) -> None:
        if self.left:
            number = self.left.pop(0)
            self.emit([number], tup_id=number)

    def ack(self, tup_id: int) -> None:
        self.acked.append(tup_id)

    def fail(self, tup_id: int) -> None:
        self.failed.append(tup_id)


class Forward(BasicBolt):
    outputs = ["number"]

    def process(self, tup: Tuple) -> None:
        self.emit([tup.number])
        self.emit([-tup.number])


class Acking(Bolt):
    def process(self, tup: Tuple) -> None:
        self.ack(tup)


class HalfAcking(Bolt):
    """Even numbers are acked, every fourth odd one is failed, the others are forgotten."""

    def process(self, tup: Tuple) -> None:
        if tup.number % 2 == 0:
            self.ack(tup)
        elif tup.number % 4 == 1:
            self.fail(tup)


class Untracked(Numbers):
    def next_tuple(self) -> None:
        if self.left:
            self.emit([self.left.pop(0)])


class Pairs(Bolt):
    outputs = ["number"]

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.waiting: list[Tuple] = []

    def process(self, tup: Tuple) -> None:
        self.waiting.append(tup)
        if len(self.waiting) == 2:
            self.emit([sum(each.number for each in self.waiting)], anchors=self.waiting)
            for each in self.waiting:
                self.ack(each)
            self.waiting = []


class FailsTheFirst(Bolt):
    def process(self, tup: Tuple) -> None:
        (self.fail if tup.number == 1 else self.ack)(tup)


def topology(sink: type[Bolt], **config: Any) -> TopologyBuilder:
    builder = TopologyBuilder("Tracked")
    numbers = builder.add_spout("numbers", Numbers, par=1)
    forward = builder.add_bolt("forward", Forward, par=2, inputs={numbers: Grouping.SHUFFLE})
    builder.add_bolt("sink", sink, par=2, inputs={forward: Grouping.ALL})
    builder.set_config(AT_LEAST_ONCE | config)
    return builder


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_a_tuple_is_acked_when_all_that_was_made_of_it_is(seed: int | None) -> None:
    with TopologyTest(topology(Acking), seed=seed) as run:
        run.run_spouts()
        spout = run.component("numbers")
        assert sorted(spout.acked) == list(range(10))
        assert spout.failed == []


def test_what_is_failed_comes_back_at_once_and_what_is_forgotten_after_the_timeout() -> None:
    class Direct(Topology):
        numbers = Numbers.spec()
        half = HalfAcking.spec(inputs={numbers: Grouping.SHUFFLE})
        config = AT_LEAST_ONCE

    with TopologyTest(Direct) as run:
        run.run_spouts()
        spout = run.component("numbers")
        assert spout.acked == [0, 2, 4, 6, 8]
        assert spout.failed == [1, 5, 9]
        run.advance("9s")
        assert spout.failed == [1, 5, 9], "nothing is late yet"
        run.advance("2s")
        assert spout.failed == [1, 5, 9, 3, 7]


class Sampling(BasicBolt):
    """Seeds the common source of random numbers, so that its samples are the same in every run."""

    outputs = ["number"]

    def process(self, tup: Tuple) -> None:
        random.seed(7)
        self.emit([tup.number + random.random()])


class Forgetful(Bolt):
    def process(self, tup: Tuple) -> None:
        pass


def test_bolts_that_seed_their_random_numbers_alike_are_told_apart() -> None:
    """Two copies of a tuple become two tuples with the same edge, if edges come from what users may seed."""

    class Sampled(Topology):
        numbers = Numbers.spec()
        sampling = Sampling.spec(par=2, inputs={numbers: Grouping.ALL})
        sink = Forgetful.spec(inputs={sampling: Grouping.SHUFFLE})
        config = AT_LEAST_ONCE

    state = random.getstate()
    try:
        with TopologyTest(Sampled) as run:
            run.run_spouts()
            assert run.component("numbers").acked == [], "the sink has acked nothing"
    finally:
        random.setstate(state)


def test_a_forked_process_makes_edges_of_its_own() -> None:
    theirs, ours = os.pipe()
    child = os.fork()
    if not child:
        os.write(ours, random_bits(64).to_bytes(8))
        os._exit(0)
    os.waitpid(child, 0)
    assert int.from_bytes(os.read(theirs, 8)) != random_bits(64)
    os.close(theirs)
    os.close(ours)


def test_no_more_are_pending_than_allowed() -> None:
    with TopologyTest(topology(HalfAcking, **{"topology.max.spout.pending": 3, "numbers": 50})) as run:
        run.run_spouts()
        spout = run.component("numbers")
        emitted = 50 - len(spout.left)
        assert emitted - len(spout.acked) - len(spout.failed) <= 3


def test_tuples_without_an_id_are_not_tracked() -> None:
    class Loose(Topology):
        numbers = Untracked.spec()
        sink = Acking.spec(inputs={numbers: Grouping.SHUFFLE})
        config = AT_LEAST_ONCE

    with TopologyTest(Loose) as run:
        run.run_spouts()
        run.advance("60s")
        spout = run.component("numbers")
        assert (spout.acked, spout.failed, spout.left) == ([], [], [])
        assert run.component("sink").delegate is not None


def test_a_tuple_of_two_trees_ends_both() -> None:
    class Joined(Topology):
        numbers = Numbers.spec()
        pairs = Pairs.spec(inputs={numbers: Grouping.GLOBAL})
        sink = FailsTheFirst.spec(inputs={pairs: Grouping.SHUFFLE})
        config = AT_LEAST_ONCE

    with TopologyTest(Joined) as run:
        run.run_spouts()
        spout = run.component("numbers")
        assert spout.failed == [0, 1], "both trees of 0 + 1"
        assert spout.acked == list(range(2, 10))


class Swelling(Bolt):
    """Emits a tuple that fits no frame for every third number, says so, and goes on."""

    outputs = ["number", "text"]

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.refused: list[int] = []

    def process(self, tup: Tuple) -> None:
        text = "x" * (200_000 if tup.number % 3 == 0 else 10)
        try:
            self.send(tup, [tup.number, text])
        except TupleTooLarge:
            self.refused.append(tup.number)
        self.ack(tup)

    def send(self, tup: Tuple, values: list[Any]) -> None:
        self.emit(values, anchors=[tup])


class SwellingLists(Swelling):
    """Not by the fast lane: a list in a tuple may change."""

    def send(self, tup: Tuple, values: list[Any]) -> None:
        self.emit([values[0], [values[1]]], anchors=[tup])


class Behind(Swelling):
    def process(self, tup: Tuple) -> None:
        for text in ("leaves at once", "x" * 200_000, "fills the batch"):
            try:
                self.emit([tup.number, text], anchors=[tup])
            except TupleTooLarge:
                self.refused.append(tup.number)
        self.ack(tup)


class Collecting(Bolt):
    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.seen: list[int] = []

    def process(self, tup: Tuple) -> None:
        self.seen.append(tup.number)
        self.ack(tup)


@pytest.mark.parametrize("swelling", [Swelling, SwellingLists])
def test_a_tree_does_not_wait_for_a_tuple_that_was_too_large_and_the_others_have_all_copies(
    swelling: type[Swelling],
) -> None:
    class TooLarge(Topology):
        numbers = Numbers.spec()
        made = swelling.spec(inputs={numbers: Grouping.SHUFFLE})
        left = Collecting.spec(inputs={made: Grouping.SHUFFLE})
        right = Collecting.spec(inputs={made: Grouping.SHUFFLE})
        config = AT_LEAST_ONCE

    with TopologyTest(TooLarge, settings={"transport.frame_bytes": "64KB", "batch.tuples": 1}) as run:
        run.run_spouts()
        assert run.component("made").refused == [0, 3, 6, 9]
        for reader in ("left", "right"):
            assert run.component(reader).seen == [1, 2, 4, 5, 7, 8]
        assert sorted(run.component("numbers").acked) == list(range(10))


def test_a_tuple_that_comes_behind_one_too_large_has_all_its_copies_and_its_tree_ends() -> None:
    """The error of a row that waited comes out of the emit() of another, before that is in all lanes."""

    class TooLarge(Topology):
        numbers = Numbers.spec()
        made = Behind.spec(inputs={numbers: Grouping.SHUFFLE})
        left = Collecting.spec(inputs={made: Grouping.SHUFFLE})
        right = Collecting.spec(inputs={made: Grouping.SHUFFLE})
        config = AT_LEAST_ONCE

    with TopologyTest(TooLarge, settings={"transport.frame_bytes": "64KB", "batch.tuples": 2}) as run:
        run.run_spouts()
        assert run.component("made").refused == list(range(10))
        for reader in ("left", "right"):
            assert run.component(reader).seen == [number // 2 for number in range(20)]
        assert sorted(run.component("numbers").acked) == list(range(10))
