"""A component says everything through its delegate."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import pytest

from heronpy import BasicBolt, Bolt, Spout
from heronpy.component import make_component
from heronpy.errors import DefinitionError
from heronpy.state import HashMapState, StatefulComponent, give_state
from heronpy.tuple import Tuple


class Recorder:
    """Stands where the engine is, and writes down what it is told."""

    logger = logging.getLogger("recorder")

    def __init__(self) -> None:
        self.said: list[tuple[Any, ...]] = []

    def emit(self, *args: Any) -> list[int]:
        self.said.append(("emit", *args))
        return [4]

    def ack(self, tup: Tuple) -> None:
        self.said.append(("ack", tup.id))

    def fail(self, tup: Tuple) -> None:
        self.said.append(("fail", tup.id))

    def log(self, message: object, level: str | None = None) -> None:
        self.said.append(("log", message, level))


class Words(Spout):
    outputs = ["word"]


class Echo(Bolt):
    def process(self, tup: Tuple) -> None:
        self.emit(tup.values, anchors=[tup])
        self.ack(tup)


def tuple_of(tup_id: object, *values: object) -> Tuple:
    return Tuple(tup_id, "words", "default", 1, list(values))


def test_a_spout_emits_logs_and_gets_task_ids() -> None:
    engine = Recorder()
    spout = make_component(Words, engine)
    assert spout.emit(["a"], tup_id=9, need_task_ids=True) == [4]
    spout.log("hello", "warn")
    assert spout.logger is engine.logger
    assert engine.said == [("emit", ["a"], 9, "default", None, True), ("log", "hello", "warn")]


def test_what_a_spout_leaves_out_does_nothing_but_next_tuple_must_be_there() -> None:
    spout = make_component(Words, Recorder())
    for call in (spout.activate, spout.deactivate, spout.close):
        call()
    spout.ack(1)
    spout.fail(1)
    with pytest.raises(NotImplementedError, match=r"Words must define next_tuple\(\)"):
        spout.next_tuple()


def test_a_component_can_be_the_delegate_of_another() -> None:
    class Counting(Bolt):
        emitted = acked = 0

        def emit(
            self,
            tup: Sequence[Any],
            stream: str = "default",
            anchors: Sequence[Tuple] | None = None,
            direct_task: int | None = None,
            need_task_ids: bool = False,
        ) -> list[int] | None:
            self.emitted += 1
            return super().emit(tup, stream, anchors, direct_task, need_task_ids)

        def ack(self, tup: Tuple) -> None:
            self.acked += 1
            super().ack(tup)

    engine = Recorder()
    outer = make_component(Counting, engine)
    inner = Echo(delegate=outer)
    tup = tuple_of(1, "a")
    inner.process(tup)
    inner.log("through both")
    assert (outer.emitted, outer.acked) == (1, 1)
    assert engine.said == [
        ("emit", ["a"], "default", [tup], None, False),
        ("ack", 1),
        ("log", "through both", None),
    ]


def test_a_constructor_of_ones_own_may_ignore_the_engine() -> None:
    class Own(Bolt):
        def __init__(self) -> None:
            self.seen = 0
            self.log("made")

    class WithDefault(Bolt):
        def __init__(self, limit: int = 10) -> None:
            self.limit = limit

    class Passing(Bolt):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)

    engine = Recorder()
    assert make_component(Own, engine).seen == 0
    assert engine.said == [("log", "made", None)]
    assert make_component(WithDefault, engine).limit == 10
    assert make_component(Passing, engine).delegate is engine


def test_a_constructor_that_wants_more_is_told_where_to_get_it() -> None:
    class Greedy(Bolt):
        def __init__(self, host: str, port: int) -> None:
            self.address = (host, port)

    with pytest.raises(DefinitionError, match=r"needs host, port, which no instance can give.*initialize"):
        make_component(Greedy, Recorder())


def test_state_is_a_mapping_of_ones_own_and_gives_way_to_ones_own_attribute() -> None:
    one, other = make_component(Echo, Recorder()), make_component(Echo, Recorder())
    one.state["a"] = 1
    assert (one.state, other.state) == ({"a": 1}, {})
    other.state = "mine"
    assert other.state == "mine"


def test_a_stateful_component_is_given_its_state() -> None:
    class Stateful(Echo, StatefulComponent):
        def init_state(self, stateful_state: Any) -> None:
            self.recovered = stateful_state

    state = HashMapState()
    state.put("a", 1)
    bolt = make_component(Stateful, Recorder())
    give_state(bolt, lambda: state)
    assert bolt.recovered is bolt.state is state
    plain = make_component(Echo, Recorder())
    give_state(plain, lambda: state)
    assert plain.state == {}


def test_hash_map_state_is_apaches_and_a_dict() -> None:
    state = HashMapState()
    state.put("a", 1)
    state["b"] = 2
    assert (state.get("a"), state.get("c"), state["b"], "b" in state, len(state)) == (1, None, 2, True, 2)
    assert list(state.enumerate()) == [(0, "a"), (1, "b")]
    assert str(state) == "{'a': 1, 'b': 2}"
    del state["a"]
    state.clear()
    assert dict(state) == {}


class Basic(BasicBolt):
    outputs = ["word"]

    def process(self, tup: Tuple) -> None:
        if tup.values[0] == "settled":
            self.fail(tup)
        elif tup.values[0] == "bad":
            raise ValueError(tup.values[0])
        else:
            self.emit([tup.values[0].upper()])


def test_a_basic_bolt_anchors_and_acks_by_itself() -> None:
    engine = Recorder()
    tup = tuple_of(1, "good")
    make_component(Basic, engine).process(tup)
    assert engine.said == [("emit", ["GOOD"], "default", [tup], None, False), ("ack", 1)]


def test_a_basic_bolt_fails_what_it_cannot_process() -> None:
    engine = Recorder()
    bolt = make_component(Basic, engine)
    with pytest.raises(ValueError, match="bad"):
        bolt.process(tuple_of(1, "bad"))
    bolt.process(tuple_of(2, "settled"))
    bolt.emit(["on a tick"])
    assert engine.said == [("fail", 1), ("fail", 2), ("emit", ["on a tick"], "default", None, None, False)]


def test_a_basic_bolt_that_extends_another_acks_once() -> None:
    class More(Basic):
        def process(self, tup: Tuple) -> None:
            super().process(tup)
            self.emit(["more"], anchors=[])

    engine = Recorder()
    tup = tuple_of(1, "good")
    make_component(More, engine).process(tup)
    assert engine.said == [
        ("emit", ["GOOD"], "default", [tup], None, False),
        ("emit", ["more"], "default", [], None, False),
        ("ack", 1),
    ]


def test_a_basic_bolt_settles_a_whole_batch() -> None:
    class Batched(BasicBolt):
        def process_batch(self, tuples: list[Tuple]) -> None:
            self.ack(tuples[1])

    engine = Recorder()
    make_component(Batched, engine).process_batch([tuple_of(1), tuple_of(2), tuple_of(3)])
    assert engine.said == [("ack", 2), ("ack", 1), ("ack", 3)]
