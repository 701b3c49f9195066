"""A bolt that may not wait inside emit(): it pauses in the middle of a frame, and goes on there."""

from __future__ import annotations

from typing import Any

from support.tasks.shelf import Shelf

from heronpy import Bolt, Grouping, Spout, Topology, Tuple
from heronpy.instances.execution.turn import Turn
from heronpy.instances.flow_settings import FlowSettings
from heronpy.instances.output.codec import PlainCodec
from heronpy.instances.saving.snapshot import SavingSettings
from heronpy.instances.task.build import build_task
from heronpy.kernel.flow.credit import Grant
from heronpy.kernel.flow.frame import CREDIT, DATA, SIGNAL, Prefix, unseal
from heronpy.kernel.flow.sender import Sender
from heronpy.kernel.flow.signals import Barrier, decode_signal
from heronpy.testing.placing import placed

SOURCE, RELAY, SINK = 1, 2, 3


class Words(Spout):
    outputs = ["n"]


class Relay(Bolt):
    """Emits three tuples for each."""

    outputs = ["n"]

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.seen: list[int] = []
        self.ticks = 0

    def process(self, tup: Tuple) -> None:
        self.seen.append(tup.n)
        for _ in range(3):
            self.emit([tup.n])

    def process_tick(self, tup: Tuple) -> None:
        self.ticks += 1


class Chain(Topology):
    words = Words.spec()
    relay = Relay.spec(inputs=[words], config={"topology.tick.tuple.freq.secs": 1})
    sink = Relay.spec(name="sink", inputs={relay: Grouping.SHUFFLE})


class Stage:
    """The relay, with frames made by hand, on a thread that is not its own."""

    def __init__(self) -> None:
        self.now = 0.0
        self.stopping = False
        self.frames: list[tuple[Prefix, bytes]] = []
        self._consumed = 0
        plan, find = placed(Chain, 1)
        self.task = build_task(
            plan, RELAY, 1, self, FlowSettings(batch_tuples=2, credit_initial=2), find, lambda: self.now,
            keeping=SavingSettings(Shelf, "t/e", lambda *_: None), may_wait=False,
        )  # fmt: skip
        self.relay: Any = self.task.component
        self.task.initialize()
        self.source, self.sink = Sender(SOURCE, 1, plan.epoch), Sender(SINK, 1, plan.epoch)
        self.task.on_frame(*self.sink.frame(CREDIT, RELAY, Grant(1, 0, 2).encode()))

    def send(self, prefix: bytes, payload: bytes) -> None:
        self.frames.append((unseal(prefix, payload), payload))

    def pump(self, timeout: float) -> None:
        assert timeout == 0, "only the loop waits"

    def bring(self, *numbers: int, at: int = 0) -> None:
        payload = PlainCodec().encode([(number,) for number in numbers])
        self.task.on_frame(*self.source.frame(DATA, RELAY, payload, tuples=len(numbers), position=at))

    def work(self) -> Turn:
        while (turn := self.task.turn()) is Turn.MORE:
            pass
        return turn

    def consume_all(self) -> Turn:
        """The sink grants all that it was sent, and two more; until nothing is left to send."""
        while True:
            sent = sum(prefix.tuples for prefix, _ in self.frames if prefix.kind == DATA)
            if sent == self._consumed:
                return self.work()
            self._consumed = sent
            self.task.on_frame(*self.sink.frame(CREDIT, RELAY, Grant(1, sent, sent + 2).encode()))
            self.work()

    @property
    def granted(self) -> int:
        """Tuples of the source that are reported as consumed."""
        grants = [payload for prefix, payload in self.frames if prefix.kind == CREDIT]
        return Grant.decode(grants[-1]).consumed

    @property
    def barriers(self) -> list[Barrier]:
        found = [decode_signal(payload) for prefix, payload in self.frames if prefix.kind == SIGNAL]
        return [signal for signal in found if isinstance(signal, Barrier)]


def test_the_rest_of_a_frame_waits_for_credit_and_is_neither_granted_nor_lost() -> None:
    stage = Stage()
    stage.bring(1, 2, 3, 4)
    assert stage.work() is Turn.BLOCKED
    assert stage.relay.seen == [1, 2], "the first has used all credit, the second has filled its lane"
    assert (stage.granted, stage.task.parts.counters.queued) == (2, 2)
    assert stage.consume_all() is Turn.DONE
    assert stage.relay.seen == [1, 2, 3, 4]
    assert (stage.granted, stage.task.parts.counters.queued) == (4, 0)


def test_a_barrier_waits_for_the_rest_of_the_frame_before_it() -> None:
    stage = Stage()
    stage.bring(1, 2, 3, 4)
    stage.task.on_frame(*stage.source.signal(RELAY, Barrier(7), 4))
    assert stage.work() is Turn.BLOCKED
    assert stage.barriers == []
    stage.consume_all()
    assert stage.barriers == [Barrier(7)]


def test_a_barrier_that_is_next_is_taken_while_rows_wait_for_credit() -> None:
    stage = Stage()
    stage.bring(1, 2)
    stage.task.on_frame(*stage.source.signal(RELAY, Barrier(7), 2))
    stage.bring(3, at=2)
    assert stage.work() is Turn.BLOCKED
    assert (stage.relay.seen, stage.barriers) == ([1, 2], [Barrier(7)])


def test_a_tick_that_was_owed_comes_before_the_task_rests() -> None:
    """Credit has come, and the frame that waited is the only one."""
    stage = Stage()
    stage.bring(1, 2)
    stage.bring(3, at=2)
    assert stage.work() is Turn.BLOCKED
    stage.now = 1.5
    assert stage.work() is Turn.BLOCKED
    sent = sum(prefix.tuples for prefix, _ in stage.frames if prefix.kind == DATA)
    stage.task.on_frame(*stage.sink.frame(CREDIT, RELAY, Grant(1, sent, sent + 100).encode()))
    stage.work()
    assert (stage.relay.seen, stage.relay.ticks) == ([1, 2, 3], 1)


def test_a_tick_waits_until_the_bolt_may_be_called_and_the_time_counts_as_waiting() -> None:
    stage = Stage()
    stage.bring(1, 2, 3)
    assert stage.work() is Turn.BLOCKED
    stage.now = 1.5
    assert stage.work() is Turn.BLOCKED
    assert stage.relay.ticks == 0
    assert stage.task.parts.counters.waiting_seconds == 1.5
    stage.consume_all()
    assert stage.relay.ticks == 1
