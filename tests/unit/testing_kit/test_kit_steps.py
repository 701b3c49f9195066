"""Feeding, sending, looking, ending: what a test does with a run."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from typing import Any

import pytest

from heronpy import BasicBolt, Bolt, Grouping, Spout, Stream, Topology, TopologyContext, Tuple
from heronpy.kernel.errors import TopologyError
from heronpy.kernel.plans import Component, LogicalPlan, Source
from heronpy.kernel.plans import DeclaredStream as PlanStream
from heronpy.logical_plan import to_logical_plan
from heronpy.submissions import submissions
from heronpy.testing import Counts, TopologyTest


class Unreachable(Spout):
    """Stands for a spout that needs a broker."""

    outputs = ["word"]

    def __init__(self) -> None:
        msg = "no broker here"
        raise ConnectionError(msg)


class Numbers(Spout):
    outputs = ["number"]

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        self.next = 0
        self.acked: list[int] = []
        self.closed = False

    def next_tuple(self) -> None:
        self.emit([self.next], tup_id=self.next)
        self.next += 1

    def ack(self, tup_id: int) -> None:
        self.acked.append(tup_id)

    def close(self) -> None:
        self.closed = True


class Count(Bolt):
    outputs = ["word", "count"]

    def process(self, tup: Tuple) -> None:
        total = self.state[tup.word] = self.state.get(tup.word, 0) + 1
        self.emit([tup.word, total])
        self.ack(tup)


class Split(BasicBolt):
    """Even numbers one way, odd ones the other."""

    outputs = [Stream(["number"], name="even"), Stream(["number"], name="odd")]

    def process(self, tup: Tuple) -> None:
        self.emit([tup.number], stream="odd" if tup.number % 2 else "even")


class Keep(Bolt):
    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        self.got: list[Tuple] = []
        self.closed = False

    def process(self, tup: Tuple) -> None:
        self.got.append(tup)

    def close(self) -> None:
        self.closed = True


class WordCount(Topology):
    words = Unreachable.spec(par=2)
    count = Count.spec(par=2, inputs={words: Grouping.fields("word")})


class Sorting(Topology):
    numbers = Numbers.spec()
    split = Split.spec(inputs=[numbers])
    evens = Keep.spec(inputs=[split["even"]])
    both = Keep.spec(inputs=[split["even"], split["odd"]])


def test_list_in_list_out() -> None:
    run = TopologyTest(WordCount)
    assert run.emitted("count") == []
    run.feed("words", [["a"], ["b"], ["a"]])
    run.run()
    assert run.emitted("words") == [["a"], ["b"], ["a"]]
    assert run.emitted("count") == [["a", 1], ["b", 1], ["a", 2]]
    assert run.emitted("words", index=0) == [["a"], ["a"]]
    assert run.emitted("words", index=1) == [["b"]]


def test_a_run_goes_on_with_more_input() -> None:
    run = TopologyTest(WordCount)
    run.feed("words", [["a"]])
    run.run()
    run.feed("words", [["a"], ["c"]])
    assert run.emitted("count") == [["a", 1]]
    run.run()
    assert run.emitted("count") == [["a", 1], ["a", 2], ["c", 1]]
    assert run.emitted("words", index=1) == [["a"]], "dealing goes on where it was"


def test_the_ledger_adds_up_all_tasks() -> None:
    run = TopologyTest(WordCount)
    run.feed("words", [["a"], ["b"], ["a"]])
    run.run()
    assert run.counts() == {
        "words": Counts(emitted=3, executed=0, acked=0, failed=0, most_queued=0),
        "count": Counts(emitted=3, executed=3, acked=3, failed=0, most_queued=1),
    }


def test_a_real_spout_is_asked_as_often_as_the_test_says() -> None:
    run = TopologyTest(Sorting)
    run.run()
    assert run.emitted("numbers") == []
    run.run_spouts(calls=3)
    assert run.emitted("numbers") == [[0], [1], [2]]
    assert run.component("numbers").acked == [0, 1, 2]
    run.run_spouts(calls=1)
    assert run.emitted("numbers") == [[0], [1], [2], [3]]


def test_a_spout_that_never_ends_is_named_as_the_reason() -> None:
    class Endless(Topology):
        numbers = Numbers.spec()

    with pytest.raises(TopologyError, match=r"still emit after .*run_spouts\(calls=10\)"):
        TopologyTest(Endless).run_spouts()


def test_streams_are_told_apart() -> None:
    run = TopologyTest(Sorting)
    run.run_spouts(calls=5)
    assert run.emitted("split", "even") == [[0], [2], [4]]
    assert run.emitted("split", "odd") == [[1], [3]]
    assert [tup.number for tup in run.component("evens").got] == [0, 2, 4]
    both = run.component("both").got
    assert sorted((tup.stream, tup.number) for tup in both) == [
        ("even", 0), ("even", 2), ("even", 4), ("odd", 1), ("odd", 3),
    ]  # fmt: skip
    assert run.counts()["split"].acked == 5


def test_a_bolt_is_fed_by_hand() -> None:
    run = TopologyTest(Sorting)
    run.send("both", [8], stream="even")
    run.send("both", [9], source="split", stream="odd")
    run.run()
    (even, odd) = run.component("both").got
    assert tuple(even) == (None, "split", "even", run.task_ids("split")[0], [8])
    assert tuple(odd) == (None, "split", "odd", run.task_ids("split")[0], [9])
    assert run.emitted("split", "even") == [], "nobody emitted it"
    run.run_spouts(calls=2)
    assert run.counts()["both"].executed == 4, "and real tuples still come through on that channel"


def test_a_tuple_by_hand_goes_to_the_named_task() -> None:
    run = TopologyTest(WordCount)
    run.feed("words", [])
    run.send("count", ["a"], index=1)
    run.send("count", ["a"], index=1)
    run.run()
    assert run.emitted("count", index=0) == []
    assert run.emitted("count", index=1) == [["a", 1], ["a", 2]]


def test_a_tuple_by_hand_goes_where_its_key_belongs() -> None:
    run = TopologyTest(WordCount)
    words = [chr(letter) for letter in range(ord("a"), ord("z") + 1)]
    run.feed("words", [[word] for word in words])
    for word in words:
        run.send("count", [word])
    run.run()
    assert run.state("count") == dict.fromkeys(words, 2)
    assert run.state("count", index=0).keys() == {word for word, _ in run.emitted("count", index=0)}
    assert run.state("count", index=0) | run.state("count", index=1) == run.state("count")


def test_the_state_of_tasks_that_share_a_key_is_seen_one_by_one() -> None:
    class Shuffled(Topology):
        words = Unreachable.spec()
        count = Count.spec(par=2, inputs=[words])

    run = TopologyTest(Shuffled)
    run.feed("words", [["a"], ["a"], ["a"]])
    run.run()
    with pytest.raises(TopologyError, match=r"several tasks of 'count' have 'a' .*state\('count', index=0\)"):
        run.state("count")
    assert [run.state("count", index=index) for index in (0, 1)] == [{"a": 2}, {"a": 1}]


def test_closing_ends_every_component_once() -> None:
    with TopologyTest(Sorting) as run:
        run.run_spouts(calls=2)
        spout, sink = run.component("numbers"), run.component("evens")
        assert not spout.closed
    assert spout.closed
    assert sink.closed
    assert run.emitted("numbers") == [[0], [1]], "what it did can still be read"
    with pytest.raises(TopologyError, match="this run is closed"):
        run.run()
    sink.closed = False
    run.close()
    assert not sink.closed


def test_closing_a_run_that_never_began_does_nothing() -> None:
    TopologyTest(WordCount).close()


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda run: run.feed("word", []), "no component 'word' .* did you mean 'words'"),
        (lambda run: run.feed("count", []), r"'count' is a bolt.*run.send\('count', values\)"),
        (lambda run: run.feed("words", [], stream="other"), "'words' does not declare stream 'other'"),
        (lambda run: run.feed("words", [], index=2), r"no task words\[2\]: 'words' has tasks 0 to 1"),
        (lambda run: run.send("count", [1, 2]), r"2 values for stream 'default' of 'words'.*\['word'\]"),
        (lambda run: run.send("count", ["a"], source="other"), "'count' does not read other:default"),
        (lambda run: run.send("words", ["a"]), "its inputs: none: it is a spout"),
        (lambda run: run.emitted("count", "other"), "'count' does not declare stream 'other'"),
        (lambda run: run.component("count", 5), r"no task count\[5\]"),
        (lambda run: run.state("counts"), "no component 'counts' .* did you mean 'count'"),
        (lambda run: run.send("count", [["a"]]), "field 'word' of what is sent to 'count': a list cannot be"),
    ],
)
def test_a_slip_of_the_pen_is_explained(step: Any, message: str) -> None:
    with pytest.raises(TopologyError, match=message):
        step(TopologyTest(WordCount))


def test_a_spout_that_has_begun_as_itself_cannot_be_fed() -> None:
    run = TopologyTest(Sorting)
    run.run_spouts(calls=1)
    with pytest.raises(
        TopologyError, match=r"spout 'numbers' runs as itself already .*before the first step"
    ):
        run.feed("numbers", [[1]])


def test_a_topology_that_could_not_be_submitted_cannot_be_tested() -> None:
    class Wrong(Topology):
        words = Unreachable.spec()
        count = Count.spec(inputs={words: Grouping.fields("wrod")})

    with pytest.raises(TopologyError, match="'wrod', which it does not have; did you mean 'word'"):
        TopologyTest(Wrong)
    with pytest.raises(ValueError, match="4 tasks cannot be spread over 5 containers"):
        TopologyTest(WordCount, containers=5)


def test_a_plan_is_found_by_its_class_paths() -> None:
    run = TopologyTest(to_logical_plan(WordCount, Source()))
    run.feed("words", [["a"]])
    run.run()
    assert run.emitted("count") == [["a", 1]]


def test_a_plan_of_a_file_leaves_this_process_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "filed.py"
    file.write_text(
        "from heronpy import Spout\n"
        "class Once(Spout):\n"
        "    outputs = ['word']\n"
        "    said = False\n"
        "    def next_tuple(self):\n"
        "        if not self.said:\n"
        "            self.said = True\n"
        "            self.emit(['hello'])\n"
    )

    once = Component("once", "spout", "__main__.Once", 1, outputs=(PlanStream("default", ("word",)),))
    plan = LogicalPlan("filed", (once,), source=Source(str(file), ("filed.py", "its", "arguments")))
    argv, ignored = list(sys.argv), submissions.ignored
    run = TopologyTest(plan)
    run.run_spouts()
    assert run.emitted("once") == [["hello"]]
    assert (sys.argv, submissions.ignored) == (argv, ignored)


class Fragile(Bolt):
    outputs = ["word"]

    def process(self, tup: Tuple) -> None:
        if tup.word == "bad":
            msg = "cannot digest this"
            raise ValueError(msg)
        self.emit([tup.word])


class Guarded(Bolt):
    """Catches whatever its own emit raises."""

    outputs = ["word"]

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        self.caught: list[Exception] = []
        self.closed = False

    def process(self, tup: Tuple) -> None:
        try:
            self.emit([tup.word])
        except Exception as error:
            self.caught.append(error)

    def close(self) -> None:
        self.closed = True


class Breaking(Topology):
    words = Unreachable.spec()
    guarded = Guarded.spec(inputs=[words])
    fragile = Fragile.spec(inputs=[guarded])


def test_an_error_is_the_users_own_with_the_task_and_the_tuple() -> None:
    run = TopologyTest(Breaking)
    run.feed("words", [["good"], ["bad"], ["good"]])
    with pytest.raises(ValueError, match="cannot digest this") as caught:
        run.run()
    assert caught.value.__notes__[0].startswith("while processing Tuple(id=None, component='guarded'")
    assert "values=['bad']" in caught.value.__notes__[0]
    assert caught.value.__notes__[1] == "in fragile[0] of topology Breaking"
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert frames[-1].name == "process"
    assert not [frame for frame in frames if "/instances/" in frame.filename], "none of the engine's frames"
    assert run.emitted("fragile") == [["good"]]
    with pytest.raises(TopologyError, match="this run is over: ValueError"):
        run.run()
    run.close()
    assert run.component("guarded").closed, "only what has failed is not closed"


def test_a_receivers_error_is_not_for_its_emitter_to_catch() -> None:
    run = TopologyTest(Breaking, settings={"credit.initial_tuples": 1, "batch.tuples": 1})
    run.feed("words", [["good"], ["bad"], *[["good"]] * 8])
    with pytest.raises(ValueError, match="cannot digest this"):
        run.run()
    assert run.component("guarded").caught == []


class Unready(Bolt):
    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        msg = "not today"
        raise LookupError(msg)

    def process(self, tup: Tuple) -> None: ...


def test_an_error_in_initialize_names_the_task() -> None:
    class NotToday(Topology):
        numbers = Numbers.spec()
        unready = Unready.spec(inputs=[numbers])

    with pytest.raises(LookupError, match="not today") as caught:
        TopologyTest(NotToday).run()
    assert caught.value.__notes__ == ["in unready[0] of topology NotToday"]


def test_the_same_seed_gives_the_same_run() -> None:
    def outcome(seed: int | None) -> list[list[Any]]:
        run = TopologyTest(WordCount, seed=seed)
        run.feed("words", [[word] for word in "abcdefgh" * 4])
        run.run()
        return run.emitted("count")

    assert outcome(7) == outcome(7)
    assert len({str(outcome(seed)) for seed in range(8)}) > 1, "and others give others"
    assert sorted(outcome(7)) == sorted(outcome(None))
