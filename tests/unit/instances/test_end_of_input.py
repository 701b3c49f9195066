"""A spout that finishes, and bolts that are told when everything has been processed."""

from __future__ import annotations

from typing import Any

from heronpy import BasicBolt, Bolt, Grouping, SlidingWindowBolt, Spout, Topology, TumblingWindowBolt
from heronpy.testing import TopologyTest
from heronpy.tuple import Tuple


class Words(Spout):
    outputs = ["word"]
    words = ["a", "b", "a", "c", "a"]

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.left = list(self.words)
        self.calls_after_the_end = 0

    def next_tuple(self) -> None:
        if self.left:
            self.emit([self.left.pop(0)], tup_id=len(self.left))
        else:
            self.calls_after_the_end += 1
            self.finish()


class Count(Bolt):
    outputs = ["word", "count"]
    ends = 0

    def process(self, tup: Tuple) -> None:
        self.state[tup.values[0]] = self.state.get(tup.values[0], 0) + 1
        self.ack(tup)

    def end_of_input(self) -> None:
        self.ends += 1
        for word, count in self.state.items():
            self.emit([word, count])


class Total(BasicBolt):
    outputs = ["total"]

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.total = 0

    def process(self, tup: Tuple) -> None:
        self.total += tup.values[1]

    def end_of_input(self) -> None:
        self.emit([self.total])


class Bounded(Topology):
    words = Words.spec(par=2)
    count = Count.spec(par=3, inputs={words: Grouping.fields("word")})
    total = Total.spec(inputs=[count])


class Tracked(Bounded):
    config = {"topology.reliability.mode": "ATLEAST_ONCE"}


def test_bolts_emit_what_they_hold_when_all_spouts_have_finished() -> None:
    with TopologyTest(Bounded) as run:
        run.run_spouts()
        assert sorted(run.emitted("count")) == [["a", 6], ["b", 2], ["c", 2]]
        assert run.emitted("total") == [[10]]
        assert [run.component("count", index).ends for index in range(3)] == [1, 1, 1]


def test_a_spout_that_has_finished_is_not_called_again() -> None:
    with TopologyTest(Bounded) as run:
        run.run_spouts()
        run.run_spouts()
        assert [run.component("words", index).calls_after_the_end for index in range(2)] == [1, 1]


class Stubborn(Words):
    """Emits a word again that failed, and finishes again behind it."""

    def fail(self, tup_id: Any) -> None:
        self.left.append("again")


class Reluctant(Count):
    """Fails the first word that it gets."""

    failed = False

    def process(self, tup: Tuple) -> None:
        if self.failed:
            super().process(tup)
        else:
            self.failed = True
            self.fail(tup)


class Retried(Topology):
    config = {"topology.reliability.mode": "ATLEAST_ONCE"}
    words = Stubborn.spec()
    count = Reluctant.spec(inputs={words: Grouping.fields("word")})


def test_the_input_has_not_ended_while_a_tuple_can_fail_and_be_emitted_again() -> None:
    with TopologyTest(Retried) as run:
        run.run_spouts()
        assert sorted(run.emitted("count")) == [["a", 2], ["again", 1], ["b", 1], ["c", 1]]
        assert run.component("count").ends == 1


class Last(TumblingWindowBolt):
    outputs = ["words"]

    def processWindow(self, window_info: Any, tuples: list[Tuple]) -> None:  # noqa: N802 - Apache's name
        self.emit(["".join(tup.values[0] for tup in tuples)])


class Windowed(Topology):
    words = Words.spec()
    last = Last.spec(inputs=[words], config={"tumblingwindowbolt_duration_secs": 60})


def test_the_last_window_ends_with_the_input() -> None:
    with TopologyTest(Windowed) as run:
        run.run_spouts()
        assert run.emitted("last") == [["abaca"]]


def test_trees_are_over_before_the_input_ends() -> None:
    with TopologyTest(Tracked) as run:
        run.run_spouts()
        assert run.emitted("total") == [[10]]


class Sliding(SlidingWindowBolt):
    outputs = ["words"]

    def processWindow(self, window_info: Any, tuples: list[Tuple]) -> None:  # noqa: N802 - Apache's name
        self.emit(["".join(tup.values[0] for tup in tuples)])


class Slid(Topology):
    words = Words.spec()
    last = Sliding.spec(
        inputs=[words],
        config={"slidingwindowbolt_duration_secs": 30, "slidingwindowbolt_slideinterval_secs": 5},
    )


def test_no_window_ends_after_the_input() -> None:
    with TopologyTest(Slid) as run:
        run.run_spouts()
        run.advance("40s")
        assert run.emitted("last") == [["abaca"]]
