"""What components keep in their state, seen through a whole topology."""

from __future__ import annotations

from typing import Any

import pytest

from heronpy import Bolt, Grouping, KeyNotOwned, Spout, Topology, TopologyContext, Tuple
from heronpy.errors import DefinitionError
from heronpy.state import State, StatefulComponent
from heronpy.testing import TopologyTest

WORDS = ["the", "heron", "waits", "and", "the", "stream", "brings", "the", "fish"]
COUNTS = {"the": 3, "heron": 1, "waits": 1, "and": 1, "stream": 1, "brings": 1, "fish": 1}


class Words(Spout):
    outputs = ["word", "length"]


class Count(Bolt):
    def process(self, tup: Tuple) -> None:
        self.state[tup.word] = self.state.get(tup.word, 0) + 1


class Total(Bolt):
    """Keeps one number under a name of its own, which is nobody's grouping key."""

    def process(self, tup: Tuple) -> None:
        self.state["total"] = self.state.get("total", 0) + 1


class ApacheCount(Bolt, StatefulComponent):
    """Written for Apache Heron: counts of its own, copied into the state before it is saved."""

    def init_state(self, stateful_state: State) -> None:
        self.kept = stateful_state

    def pre_save(self, checkpoint_id: str) -> None:
        for word, count in self.counts.items():
            self.kept.put(word, count)

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        self.counts: dict[str, int] = {}

    def process(self, tup: Tuple) -> None:
        self.counts[tup.word] = self.counts.get(tup.word, 0) + 1


class KeyedApacheCount(ApacheCount):
    keyed = True


class Wrapper(Bolt):
    """Does nothing but through the bolt inside."""

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        self.inner = Count(delegate=self)

    def process(self, tup: Tuple) -> None:
        self.inner.process(tup)


class Own(Bolt):
    """Has a `state` that it made itself."""

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        self.state = "idle"

    def process(self, tup: Tuple) -> None:
        self.state = f"busy with {tup.word}"


def counting(cls: type[Bolt], grouping: Any = None) -> TopologyTest:
    """The words on their way to three tasks of a bolt."""

    class Counting(Topology):
        words = Words.spec(par=2)
        count = cls.spec(par=3, inputs={words: grouping or Grouping.fields("word")})

    run = TopologyTest(Counting)
    run.feed("words", [[word, len(word)] for word in WORDS])
    return run


@pytest.mark.parametrize("cls", [Count, Wrapper])
def test_each_key_is_in_one_task(cls: type[Bolt]) -> None:
    run = counting(cls)
    run.run()
    assert run.state("count") == COUNTS
    parts = [run.state("count", index=index) for index in range(3)]
    assert sum(map(len, parts)) == len(COUNTS)
    assert all(parts), "no task is left out"


def test_what_is_looked_at_is_a_copy() -> None:
    run = counting(Count)
    run.state("count")["the"] = 100
    run.run()
    assert run.state("count") == COUNTS


def test_a_key_of_ones_own_is_refused_in_all_tasks_but_one() -> None:
    run = counting(Total)
    with pytest.raises(
        KeyNotOwned, match=r"key 'total' is in key group \d+, which belongs to count\["
    ) as caught:
        run.run()
    assert caught.value.__notes__[0].startswith("while processing Tuple(")


def test_tuples_that_come_another_way_have_no_keyed_state() -> None:
    run = counting(Total, Grouping.SHUFFLE)
    run.run()
    assert sum(run.state("count", index=index)["total"] for index in range(3)) == len(WORDS)


@pytest.mark.parametrize("cls", [ApacheCount, KeyedApacheCount])
def test_a_stateful_component_of_apaches_is_given_its_state(cls: type[Bolt]) -> None:
    run = counting(cls)
    run.run()
    assert run.state("count") == {}
    for index in range(3):
        run.component("count", index).pre_save("1")
    assert run.state("count") == COUNTS


def test_only_a_keyed_one_refuses_the_keys_of_others() -> None:
    opaque, keyed = counting(ApacheCount), counting(KeyedApacheCount)
    for index in range(3):
        opaque.component("count", index).kept.put("anything", 1)
    refused = 0
    for index in range(3):
        try:
            keyed.component("count", index).kept.put("anything", 1)
        except KeyNotOwned:
            refused += 1
    assert refused == 2
    with pytest.raises(
        DefinitionError, match="KeyedApacheCount has keyed = True, but 'count' reads nothing by"
    ):
        counting(KeyedApacheCount, Grouping.SHUFFLE).run()


def test_a_bolt_without_a_common_key_learns_so_when_it_asks_for_state() -> None:
    class Unequal(Topology):
        words = Words.spec()
        others = Words.spec()
        own = Own.spec(inputs={words: Grouping.fields("word"), others: Grouping.fields("word", "length")})
        count = Count.spec(inputs={words: Grouping.fields("word"), others: Grouping.fields("word", "length")})

    run = TopologyTest(Unequal)
    run.feed("others", [])
    run.feed("words", [["heron", 5]])
    with pytest.raises(
        DefinitionError, match="it groups 'words' by word and 'others' by word, length"
    ) as caught:
        run.run()
    assert caught.value.__notes__[-1] == "in count[0] of topology Unequal"
    assert run.component("own").state in ("idle", "busy with heron"), "who has its own never asks"
