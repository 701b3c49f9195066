"""What each grouping does to the classic alternating A/B spout, and to whom it sends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from heronpy import Bolt, Grouping, Spout, Stream, Topology, TopologyBuilder, TopologyContext, Tuple
from heronpy.custom_grouping import ICustomGrouping
from heronpy.testing import TopologyTest

SEEDS = [None, 0, 1, 2]


class Alternating(Spout):
    """A, B, A, B, …: `total` tuples per task, ten unless configured."""

    outputs = ["word"]

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        self.left = config.get("total", 10)

    def next_tuple(self) -> None:
        if self.left:
            self.left -= 1
            self.emit(["AB"[self.left % 2]])


class Keep(Bolt):
    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        self.got: list[str] = []

    def process(self, tup: Tuple) -> None:
        self.got.append(tup.values[0])


class Twice(Bolt):
    outputs = ["word"]

    def process(self, tup: Tuple) -> None:
        self.emit([tup.word])
        self.emit([tup.word])


class Distinct(Bolt):
    """Counts how many different words it has met, and says each new one."""

    outputs = ["one"]

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        self.words: set[str] = set()

    def process(self, tup: Tuple) -> None:
        if tup.word not in self.words:
            self.words.add(tup.word)
            self.emit([1])


class Sum(Bolt):
    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        self.total = 0

    def process(self, tup: Tuple) -> None:
        self.total += tup.one


def words_at(run: TopologyTest, bolt: str) -> Counter[str]:
    tasks = range(len(run.task_ids(bolt)))
    return Counter(word for index in tasks for word in run.component(bolt, index).got)


def to_keepers(grouping: Any, *, spouts: int = 1, keepers: int = 2) -> TopologyBuilder:
    builder = TopologyBuilder("classic")
    spout = builder.add_spout("spout", Alternating, spouts)
    builder.add_bolt("keep", Keep, keepers, inputs={spout: grouping})
    return builder


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("grouping", "spouts", "each"),
    [
        (Grouping.ALL, 1, 10),
        (Grouping.SHUFFLE, 1, 5),
        (Grouping.NONE, 1, 5),
        (Grouping.SHUFFLE, 3, 15),
        (Grouping.fields("word"), 3, 15),
        (Grouping.LOCAL_OR_SHUFFLE, 3, 15),
    ],
)
def test_how_many_of_each_word_arrive(grouping: Any, spouts: int, each: int, seed: int | None) -> None:
    with TopologyTest(to_keepers(grouping, spouts=spouts), seed=seed) as run:
        run.run_spouts()
        assert words_at(run, "keep") == {"A": each, "B": each}


def test_shuffle_is_even_to_within_one_tuple() -> None:
    run = TopologyTest(to_keepers(Grouping.SHUFFLE, keepers=3))
    run.run_spouts()
    assert sorted(len(run.component("keep", index).got) for index in range(3)) == [3, 3, 4]


def test_global_sends_all_to_the_task_with_the_lowest_id() -> None:
    class Global(Topology):
        spout = Alternating.spec()
        distinct = Distinct.spec(par=3, inputs={spout: Grouping.LOWEST})

    run = TopologyTest(Global)
    run.run_spouts()
    assert [len(run.component("distinct", index).words) for index in range(3)] == [2, 0, 0]


def test_equal_keys_meet_so_that_the_distinct_words_of_all_tasks_add_up() -> None:
    class Fields(Topology):
        spout = Alternating.spec(par=4, config={"total": 100})
        distinct = Distinct.spec(par=2, inputs={spout: Grouping.fields("word")})
        total = Sum.spec(inputs=[distinct])

    run = TopologyTest(Fields)
    run.run_spouts()
    assert run.counts()["distinct"].executed == 400
    assert run.component("total").total == 2


def test_a_bolt_that_emits_twice() -> None:
    class Doubling(Topology):
        spout = Alternating.spec()
        twice = Twice.spec(par=2, inputs={spout: Grouping.SHUFFLE})
        keep = Keep.spec(par=2, inputs={twice: Grouping.SHUFFLE})

    run = TopologyTest(Doubling)
    run.run_spouts()
    assert words_at(run, "keep") == {"A": 10, "B": 10}


def test_two_spouts_of_three_tasks() -> None:
    class TwoSpouts(Topology):
        one = Alternating.spec(par=3)
        two = Alternating.spec(par=3)
        keep = Keep.spec(par=2, inputs={one: Grouping.SHUFFLE, two: Grouping.SHUFFLE})

    run = TopologyTest(TwoSpouts)
    run.run_spouts()
    assert words_at(run, "keep") == {"A": 30, "B": 30}


def test_local_or_shuffle_stays_in_its_container() -> None:
    class Local(Topology):
        spout = Alternating.spec(par=2)
        keep = Keep.spec(par=4, inputs={spout: Grouping.LOCAL_OR_SHUFFLE})

    run = TopologyTest(Local, containers=2)
    run.feed("spout", [["one"]] * 4, index=0)
    run.feed("spout", [["two"]] * 4, index=1)
    run.run()
    assert [run.component("keep", index).got for index in range(4)] == [
        ["one", "one"],
        ["two", "two"],
        ["one", "one"],
        ["two", "two"],
    ]


def test_local_or_shuffle_goes_anywhere_when_nobody_is_near() -> None:
    class Far(Topology):
        spout = Alternating.spec(par=1)
        keep = Keep.spec(par=2, inputs={spout: Grouping.LOCAL_OR_SHUFFLE})

    run = TopologyTest(Far, containers=3)
    run.feed("spout", [["x"]] * 4)
    run.run()
    assert [run.component("keep", index).got for index in range(2)] == [["x", "x"], ["x", "x"]]


class ByName(Spout):
    """Sends each word directly to the task that its number names."""

    outputs = [Stream(["word"], direct=True)]

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        self.tasks = context.get_component_tasks("keep")
        self.said = False

    def next_tuple(self) -> None:
        if not self.said:
            self.said = True
            for word in ["x", "y", "z"]:
                self.emit([word], direct_task=self.tasks[1])


def test_direct_goes_where_the_emitter_says() -> None:
    class Direct(Topology):
        spout = ByName.spec()
        keep = Keep.spec(par=3, inputs={spout: Grouping.DIRECT})

    run = TopologyTest(Direct)
    run.run_spouts()
    assert [run.component("keep", index).got for index in range(3)] == [[], ["x", "y", "z"], []]


class FirstAndLast(ICustomGrouping):
    def prepare(self, context: TopologyContext, component: str, stream: str, target_tasks: list[int]) -> None:
        self.tasks = [target_tasks[0], target_tasks[-1]]

    def choose_tasks(self, values: Sequence[Any]) -> list[int]:
        return self.tasks


@pytest.mark.parametrize("grouper", [FirstAndLast, FirstAndLast()], ids=["class", "object"])
def test_a_custom_grouping_chooses_its_tasks(grouper: Any) -> None:
    run = TopologyTest(to_keepers(Grouping.custom(grouper), keepers=3))
    run.feed("spout", [["x"], ["y"]])
    run.run()
    assert [run.component("keep", index).got for index in range(3)] == [["x", "y"], [], ["x", "y"]]


class Asking(Bolt):
    outputs = ["word"]

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        self.answers: list[list[int] | None] = []

    def process(self, tup: Tuple) -> None:
        self.answers.append(self.emit([tup.word], need_task_ids=True))
        self.answers.append(self.emit([tup.word]))


def test_emit_tells_the_task_ids_to_those_who_ask() -> None:
    class Asked(Topology):
        spout = Alternating.spec()
        asking = Asking.spec(inputs=[spout])
        everyone = Keep.spec(par=2, inputs={asking: Grouping.ALL})
        one = Keep.spec(par=2, inputs={asking: Grouping.LOWEST})

    run = TopologyTest(Asked)
    run.feed("spout", [["x"]])
    run.run()
    everyone, one = run.task_ids("everyone"), run.task_ids("one")
    assert run.component("asking").answers == [[*everyone, one[0]], None]
