"""Back-pressure, batches, serializers and task hooks, as in production."""

from __future__ import annotations

import json
from typing import Any

import pytest

from heronpy import Bolt, Grouping, Spout, Topology, TopologyContext, Tuple
from heronpy.constants import (
    TOPOLOGY_AUTO_TASK_HOOKS,
    TOPOLOGY_DROPTUPLES_UPON_BACKPRESSURE,
    TOPOLOGY_SERIALIZER_CLASSNAME,
)
from heronpy.serializer import IHeronSerializer
from heronpy.task_hook import BoltAckInfo, BoltExecuteInfo, EmitInfo, ITaskHook, SpoutAckInfo
from heronpy.testing import Clock, TopologyTest


class Burst(Spout):
    """Emits a thousand numbers in a single call."""

    outputs = ["number"]

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        self.numbers = list(range(1000))

    def next_tuple(self) -> None:
        numbers, self.numbers = self.numbers, []
        for number in numbers:
            self.emit([number], tup_id=number)


class Pass(Bolt):
    outputs = ["number"]

    def process(self, tup: Tuple) -> None:
        self.emit([tup.number])


class Slow(Bolt):
    """Takes a second for each tuple, by the clock of the test."""

    outputs = ["number"]
    clock: Clock

    def process(self, tup: Tuple) -> None:
        self.clock.advance("1s")
        self.emit([tup.number])


class Chain(Topology):
    burst = Burst.spec()
    relay = Pass.spec(inputs=[burst])
    slow = Slow.spec(inputs=[relay])
    last = Pass.spec(inputs=[slow])


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_a_slow_bolt_slows_its_emitters_and_nothing_is_lost(seed: int | None) -> None:
    run = TopologyTest(Chain, seed=seed, settings={"credit.initial_tuples": 8})
    run.component("slow").clock = run.clock
    run.run_spouts()
    assert run.emitted("last") == [[number] for number in range(1000)]
    assert run.clock.monotonic() == 1000
    counts = run.counts()
    assert counts["slow"].most_queued <= 8, "it accepts no more than it was given credit for"
    assert counts["last"].executed == 1000


def test_a_single_tuple_of_credit_is_enough() -> None:
    run = TopologyTest(Chain, settings={"credit.initial_tuples": 1, "batch.tuples": 1, "credit.max_bytes": 1})
    run.component("slow").clock = run.clock
    run.run_spouts()
    assert run.emitted("last") == [[number] for number in range(1000)]
    assert run.counts()["slow"].most_queued == 1


class Batching(Bolt):
    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        self.batches: list[list[int]] = []

    def process_batch(self, tuples: list[Tuple]) -> None:
        self.batches.append([tup.number for tup in tuples])


class Batches(Topology):
    burst = Burst.spec()
    batching = Batching.spec(inputs=[burst])


def test_batches_grow_while_the_receiver_is_busy() -> None:
    run = TopologyTest(Batches)
    run.run_spouts()
    batches = run.component("batching").batches
    assert [number for batch in batches for number in batch] == list(range(1000))
    assert len(batches[0]) == 1, "an idle receiver gets the first at once"
    assert max(map(len, batches)) > 100


class BadBatch(Bolt):
    def process_batch(self, tuples: list[Tuple]) -> None:
        raise OverflowError


def test_an_error_in_a_batch_names_its_first_tuple() -> None:
    class Bad(Topology):
        burst = Burst.spec()
        bad = BadBatch.spec(inputs=[burst])

    run = TopologyTest(Bad)
    with pytest.raises(OverflowError) as caught:
        run.run_spouts()
    assert caught.value.__notes__[0].startswith("while processing a batch of 1, the first of them Tuple(")


class Early(Bolt):
    """Emits more than anybody has credit for before it has received anything."""

    outputs = ["number"]

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        for number in range(50):
            self.emit([number])

    def process(self, tup: Tuple) -> None: ...


def test_a_component_may_emit_while_it_is_initialized() -> None:
    class Eager(Topology):
        burst = Burst.spec()
        early = Early.spec(inputs=[burst])
        relay = Pass.spec(inputs=[early])

    run = TopologyTest(Eager, settings={"credit.initial_tuples": 4, "batch.tuples": 2})
    run.feed("burst", [])
    run.run()
    assert run.emitted("early") == run.emitted("relay") == [[number] for number in range(50)]


class JsonSerializer(IHeronSerializer):
    """Says what it is, so that the test can see that it was used."""

    def serialize(self, obj: Any) -> bytes:
        return json.dumps(["json", obj]).encode()

    def deserialize(self, input_str: bytes) -> Any:
        return json.loads(input_str)[1]


def test_the_topologys_own_serializer_is_used() -> None:
    class Serialized(Topology):
        burst = Burst.spec()
        relay = Pass.spec(inputs=[burst])
        config = {TOPOLOGY_SERIALIZER_CLASSNAME: f"{__name__}.JsonSerializer"}

    run = TopologyTest(Serialized)
    run.feed("burst", [[(1, 2)], [{"a": None}]])
    run.run()
    assert run.emitted("burst") == [[(1, 2)], [{"a": None}]]
    assert run.emitted("relay") == [[[1, 2]], [{"a": None}]], "JSON has made a list of the tuple"


class Diary(ITaskHook):
    """Writes down what it is told."""

    lines: list[tuple[Any, ...]] = []

    def prepare(self, conf: dict[str, Any], context: TopologyContext) -> None:
        self.who = context.get_component_id()
        self.lines.append((self.who, "prepare"))

    def clean_up(self) -> None:
        self.lines.append((self.who, "clean_up"))

    def emit(self, emit_info: EmitInfo) -> None:
        self.lines.append((self.who, "emit", list(emit_info.values), list(emit_info.out_tasks)))

    def spout_ack(self, spout_ack_info: SpoutAckInfo) -> None:
        self.lines.append((self.who, "spout_ack", spout_ack_info.message_id))

    def bolt_execute(self, bolt_execute_info: BoltExecuteInfo) -> None:
        self.lines.append((self.who, "bolt_execute", bolt_execute_info.execute_latency_ms))

    def bolt_ack(self, bolt_ack_info: BoltAckInfo) -> None:
        self.lines.append((self.who, "bolt_ack", bolt_ack_info.process_latency_ms))


class Acking(Bolt):
    clock: Clock

    def process(self, tup: Tuple) -> None:
        self.clock.advance("20ms")
        self.ack(tup)
        self.clock.advance("10ms")


class Once(Spout):
    outputs = ["number"]
    said = False

    def next_tuple(self) -> None:
        if not self.said:
            self.said = True
            self.emit([7], tup_id="seven")


def test_task_hooks_are_told_of_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    class Hooked(Topology):
        once = Once.spec()
        acking = Acking.spec(par=2, inputs={once: Grouping.LOWEST})
        config = {TOPOLOGY_AUTO_TASK_HOOKS: [f"{__name__}.Diary"]}

    lines: list[tuple[Any, ...]] = []
    monkeypatch.setattr(Diary, "lines", lines)
    with TopologyTest(Hooked) as run:
        run.component("acking").clock = run.clock
        assert sorted(lines) == [("acking", "prepare"), ("acking", "prepare"), ("once", "prepare")]
        lines.clear()
        run.run_spouts()
        assert [line for line in lines if line[0] == "once"] == [
            ("once", "emit", [7], [run.task_ids("acking")[0]]),
            ("once", "spout_ack", "seven"),
        ]
        told = [
            (name, call, round(took, 6))
            for name, call, took in (line for line in lines if line[0] == "acking")
        ]
        assert told == [("acking", "bolt_ack", 20.0), ("acking", "bolt_execute", 30.0)]
        lines.clear()
    assert sorted(lines) == [("acking", "clean_up"), ("acking", "clean_up"), ("once", "clean_up")]


class Counted(Spout):
    """Emits ten numbers a call, a thousand in all."""

    outputs = ["number"]

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        self.next = 0

    def next_tuple(self) -> None:
        for _ in range(10 if self.next < 1000 else 0):
            self.emit([self.next])
            self.next += 1


class Join(Bolt):
    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        self.seen: list[tuple[str, int]] = []

    def process(self, tup: Tuple) -> None:
        self.seen.append((tup.component, tup.number))


class Diamond(Topology):
    """One branch is slow, and both meet again."""

    source = Counted.spec()
    quick = Pass.spec(inputs=[source])
    slow = Slow.spec(inputs=[source])
    join = Join.spec(inputs=[quick, slow])


class FanOut(Topology):
    source = Counted.spec(par=2)
    slow = Slow.spec(par=2, inputs=[source])
    quick = Pass.spec(par=3, inputs={source: Grouping.ALL})
    join = Join.spec(inputs={quick: Grouping.SHUFFLE, slow: Grouping.SHUFFLE})


TIGHT = {"credit.initial_tuples": 4, "batch.tuples": 3}


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_a_slow_branch_of_a_diamond_blocks_nobody_for_good(seed: int | None) -> None:
    run = TopologyTest(Diamond, seed=seed, settings=TIGHT)
    run.component("slow").clock = run.clock
    run.run_spouts()
    numbers = [(branch, number) for branch in ("quick", "slow") for number in range(1000)]
    assert sorted(run.component("join").seen) == numbers
    assert run.counts()["slow"].most_queued <= 4


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_a_slow_reader_among_many_blocks_nobody_for_good(seed: int | None) -> None:
    run = TopologyTest(FanOut, seed=seed, settings=TIGHT)
    for index in range(2):
        run.component("slow", index).clock = run.clock
    run.run_spouts()
    assert {name: counts.executed for name, counts in run.counts().items()} == {
        "source": 0,
        "slow": 2000,
        "quick": 6000,
        "join": 8000,
    }


@pytest.mark.parametrize("config", [{}, {TOPOLOGY_DROPTUPLES_UPON_BACKPRESSURE: "false"}])
@pytest.mark.parametrize("setting", ["wait", "drop"])
def test_only_who_wants_to_loses_tuples_to_a_slow_reader_and_counts_them(
    config: dict[str, Any], setting: str
) -> None:
    class Lossy(Topology):
        burst = Burst.spec()
        slow = Slow.spec(inputs=[burst])

    Lossy._topo_config.update(config)
    run = TopologyTest(Lossy, settings={**TIGHT, "credit.when_full": setting})
    run.component("slow").clock = run.clock
    run.run_spouts()
    dropped = run.counts()["burst"].dropped
    assert run.counts()["slow"].executed + dropped == 1000
    assert (dropped > 0) is (setting == "drop" and not config)


def test_a_topology_may_ask_for_drops_itself() -> None:
    class Lossy(Topology):
        config = {TOPOLOGY_DROPTUPLES_UPON_BACKPRESSURE: True}
        burst = Burst.spec()
        slow = Slow.spec(inputs=[burst])

    run = TopologyTest(Lossy, settings=TIGHT)
    run.component("slow").clock = run.clock
    run.run_spouts()
    assert run.counts()["slow"].executed + run.counts()["burst"].dropped == 1000
    assert run.counts()["burst"].dropped > 900
