"""A spout task and a bolt task as an instance runs them, at least once: what they send, tell and count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from heronpy import Bolt, Grouping, Spout, Topology
from heronpy.instances.acking.ack_codec import Acks, decode_anchored, encode_anchored
from heronpy.instances.acking.anchored import Edges
from heronpy.instances.acking.roots import Roots
from heronpy.instances.execution.one_task import OneTask
from heronpy.instances.execution.turn import Turn
from heronpy.instances.flow_settings import FlowSettings
from heronpy.instances.output.codec import PlainCodec
from heronpy.instances.task.build import Task, build_task
from heronpy.kernel.flow.credit import Grant
from heronpy.kernel.flow.frame import ACK, ANCHORED, CREDIT, Prefix, seal, unseal
from heronpy.kernel.transport.interface import SMALLEST_LIMIT
from heronpy.task_hook import ITaskHook
from heronpy.testing.placing import placed
from heronpy.tuple import Tuple

SPOUT, BOLT = 1, 2


class Link:
    """Keeps what is sent; `on_pump` is what the world does while a task waits."""

    def __init__(self) -> None:
        self.frames: list[tuple[Prefix, bytes]] = []
        self.stopping = False
        self.on_pump: Callable[[], None] = lambda: None

    def send(self, prefix: bytes, payload: bytes) -> None:
        self.frames.append((unseal(prefix, payload), payload))

    def pump(self, timeout: float) -> None:
        self.on_pump()


class Stage:
    """One task of a spout and a bolt, and a clock."""

    def __init__(self, task: int, spout: type[Spout], bolt: type[Bolt], **changed: Any) -> None:
        class Tracked(Topology):
            words = spout.spec(name="words")
            done = bolt.spec(name="done", inputs={words: Grouping.SHUFFLE})
            config = {
                "topology.reliability.mode": "ATLEAST_ONCE",
                "topology.message.timeout.secs": 10,
                "topology.max.spout.pending": 10_000,
            }

        plan, find = placed(Tracked, 1)
        self.now = 100.0
        self.link = Link()
        settings = FlowSettings(**{"batch_tuples": 4, "credit_initial": 8, "spout_calls": 1, **changed})
        self.task: Task = build_task(plan, task, 1, self.link, settings, find, lambda: self.now)
        self.step = OneTask(self.task, self.link).step
        self.task.initialize()
        if task == SPOUT:
            self.receive(CREDIT, Grant(1, 0, settings.credit_initial).encode())

    @property
    def component(self) -> Any:
        return self.task.component

    def receive(self, kind: int, payload: bytes, tuples: int = 0, position: int = 0) -> None:
        to, source = (SPOUT, BOLT) if kind != ANCHORED else (BOLT, SPOUT)
        self.task.on_frame(*seal(Prefix(kind, to, source, 0, tuples, 1, 1, 0, position), payload))

    def receive_words(self, *anchored: Edges, at: int = 0, turn: bool = True) -> None:
        batch = PlainCodec().encode([(number,) for number in range(len(anchored))])
        self.receive(ANCHORED, encode_anchored(anchored, batch), len(anchored), at)
        if turn:
            self.run()

    def run(self) -> None:
        """Until there is nothing left to do."""
        while self.step() is Turn.MORE:
            pass

    @property
    def roots(self) -> list[int]:
        """Of the tuples that the spout has sent."""
        return [
            root
            for prefix, payload in self.link.frames
            if prefix.kind == ANCHORED
            for tup_id in decode_anchored(payload, prefix.tuples)[0]
            if tup_id is not None
            for root in tup_id.settle()
        ]

    @property
    def acks(self) -> list[tuple[int, Acks]]:
        """To which task the bolt has told what."""
        return [(p.destination, Acks.decode(payload)) for p, payload in self.link.frames if p.kind == ACK]


class Words(Spout):
    """Emits `burst` words in one call."""

    outputs = ["word"]
    burst = 3
    emitted = 0

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.acked: list[int] = []
        self.failed: list[int] = []
        self.emitting = False

    def next_tuple(self) -> None:
        burst, self.burst = self.burst, 0
        for _ in range(burst):
            self.emitting = True
            self.emit([f"word{self.emitted}"], tup_id=self.emitted)
            self.emitting = False
            self.emitted += 1

    def ack(self, tup_id: int) -> None:
        assert not self.emitting
        self.acked.append(tup_id)

    def fail(self, tup_id: int) -> None:
        assert not self.emitting
        self.failed.append(tup_id)


class Deaf(Words):
    """Has no ack() of its own."""

    ack = Spout.ack


class LateListener(Deaf):
    def initialize(self, config: dict[str, Any], context: Any) -> None:
        super().initialize(config, context)
        self.ack = self.acked.append  # type: ignore[method-assign, assignment]


class Twice(Bolt):
    """Acks everything twice, then fails it; with every third it is the other way round."""

    def process(self, tup: Tuple) -> None:
        first, then = (self.fail, self.ack) if tup.word % 3 == 2 else (self.ack, self.fail)
        first(tup)
        first(tup)
        then(tup)


class Diary(ITaskHook):
    told: list[str] = []

    def bolt_ack(self, bolt_ack_info: Any) -> None:
        self.told.append("ack")

    def bolt_fail(self, bolt_fail_info: Any) -> None:
        self.told.append("fail")


class Hooked(Twice):
    def initialize(self, config: dict[str, Any], context: Any) -> None:
        context.add_task_hook(Diary())


@pytest.mark.parametrize(("spout", "heard"), [(Words, [0, 1, 2]), (LateListener, [0, 1, 2]), (Deaf, [])])
def test_acks_are_told_to_spouts_that_listen_and_counted_for_all(
    spout: type[Words], heard: list[int]
) -> None:
    stage = Stage(SPOUT, spout, Twice)
    stage.step()
    stage.task.parts.outbox.flush()
    stage.receive(ACK, Acks(stage.roots, [], [], []).encode())
    stage.step()
    assert stage.component.acked == heard
    assert stage.task.parts.counters.acked == 3
    assert stage.task.parts.counters.pending == 0


def test_acks_that_come_while_emit_waits_are_told_after_it() -> None:
    stage = Stage(SPOUT, Words, Twice)
    stage.component.burst = 20

    def answer() -> None:
        if stage.task.parts.outbox.held_up_by is not None:
            stage.receive(ACK, Acks(stage.roots, [], [], []).encode())
            stage.receive(CREDIT, Grant(1, 8, 100).encode())
            stage.link.on_pump = lambda: None

    stage.link.on_pump = answer
    stage.step()
    assert stage.component.emitted == 20
    assert stage.component.acked == list(range(8)), "what credit had let through when emit began to wait"


def test_roots_of_a_whole_batch_go_out_and_come_back_as_one_number() -> None:
    """A batch for the only reader of a spout costs no bytes per tuple, in either direction."""
    spout, bolt = (Stage(task, Words, Slow, batch_tuples=100, credit_initial=1000) for task in (SPOUT, BOLT))
    spout.component.burst, bolt.component.stage = 100, bolt
    spout.step()
    spout.task.parts.outbox.flush()
    words = [(f"word{number}",) for number in range(100)]
    batches = [words[:1], words[1:]]  # the first does not wait for others
    anchored = [(prefix.tuples, payload) for prefix, payload in spout.link.frames if prefix.kind == ANCHORED]
    assert [len(payload) for _, payload in anchored] == [
        13 + len(PlainCodec().encode(some)) for some in batches
    ]
    for position, (tuples, payload) in enumerate(anchored):
        bolt.receive(ANCHORED, payload, tuples, position)
    bolt.run()
    for prefix, payload in bolt.link.frames:
        if prefix.kind == ACK:
            assert len(payload) == 13 + 8
            spout.receive(ACK, payload)
    spout.step()
    assert spout.component.acked == list(range(100))


def test_the_time_of_a_tuple_runs_from_its_own_emit_although_a_later_one_waits() -> None:
    """The sixteenth of twenty waits for five seconds."""
    stage = Stage(SPOUT, Words, Twice)
    stage.component.burst = 20

    def five_seconds() -> None:
        if stage.task.parts.outbox.held_up_by is not None:
            stage.now += 5.0
            stage.receive(CREDIT, Grant(1, 8, 100).encode())
            stage.link.on_pump = lambda: None

    stage.link.on_pump = five_seconds
    stage.step()
    stage.now = 110.0
    stage.step()
    assert stage.component.failed == list(range(16)), "eight were sent, eight more have filled a batch twice"
    stage.now = 114.4
    stage.step()
    assert len(stage.component.failed) == 16
    stage.now = 115.0  # it looks every half second
    stage.step()
    assert stage.component.failed == list(range(20))


def test_a_bolt_tells_of_each_tuple_once() -> None:
    stage = Stage(BOLT, Words, Twice)
    own = Roots(SPOUT, 1, None)
    a, b, c, d = (own.add(number) for number in range(4))
    stage.receive_words(a, b)
    assert _merged(stage.acks) == {SPOUT: Acks([a, b], [], [], [])}, (
        "as they came, so the values are left out"
    )
    stage.receive_words((c, 77), None, d, at=2)
    assert _merged(stage.acks) == {SPOUT: Acks([a, b], [c], [77], [d])}


def test_a_bolt_tells_each_spout_its_own() -> None:
    stage = Stage(BOLT, Words, Twice)
    one, other = Roots(SPOUT, 1, None), Roots(9, 1, None)
    a, b, c = one.add("a"), one.add("b"), one.add("c")
    z, y = other.add("z"), other.add("y")
    stage.receive_words(None, (a, 77), {b: 5, z: 6}, {c: 1, y: 2}, (b, 9))
    assert _merged(stage.acks) == {
        SPOUT: Acks([], [a, c, b], [77, 1, 9], [b]),
        9: Acks([], [y], [2], [z]),
    }


def test_every_call_of_ack_and_fail_is_counted_and_hooks_are_told_of_each() -> None:
    Diary.told.clear()
    for bolt in (Twice, Hooked):
        stage = Stage(BOLT, Words, bolt)
        stage.receive_words(None, (SPOUT << 48 | 1, 77))
        counters = stage.task.parts.counters
        assert (counters.acked, counters.failed) == (4, 2)
    assert Diary.told == ["ack", "ack", "fail"] * 2


class Slow(Bolt):
    """Takes `cost` seconds of the stage's clock for each tuple."""

    stage: Stage
    cost = 0.001
    seen = 0

    def process(self, tup: Tuple) -> None:
        self.seen += 1
        self.stage.now += self.cost
        self.ack(tup)


def test_acks_of_a_busy_bolt_travel_together_and_never_linger_for_long() -> None:
    stage = Stage(BOLT, Words, Slow, batch_tuples=1000, linger=0.02)
    stage.component.stage = stage
    own = Roots(SPOUT, 1, None)
    told_at: list[tuple[int, int]] = []
    stage.link.on_pump = lambda: told_at.append((stage.component.seen, sum(map(_told, stage.acks))))
    for frame in range(10):
        stage.receive_words(*(own.add(number) for number in range(100)), at=100 * frame, turn=False)
    stage.run()
    assert max(seen - told for seen, told in told_at) <= 20 + 8, "a chunk is not cut within eight calls"
    assert len(stage.acks) <= 1000 // 20 + 1
    assert sum(map(_told, stage.acks)) == 1000, "with nothing left to do, nothing is kept back"


def test_rows_made_from_the_same_tuples_are_acked_once_for_each_of_their_trees() -> None:
    stage = Stage(BOLT, Words, Slow, batch_tuples=1000, linger=1000.0)
    stage.component.stage = stage
    own = Roots(SPOUT, 1, None)
    a, b, c = own.add("a"), own.add("b"), own.add("c")
    stage.receive_words({a: 1, b: 2}, {a: 4, b: 8}, {a: 16, b: 32, c: 64}, {a: 128, b: 255})
    assert _merged(stage.acks) == {SPOUT: Acks([], [a, b, c], [1 ^ 4 ^ 16 ^ 128, 2 ^ 8 ^ 32 ^ 255, 64], [])}


def test_a_bolt_that_is_told_to_end_tells_all_that_it_has_acked() -> None:
    stage = Stage(BOLT, Words, Slow, batch_tuples=1000, linger=1000.0)
    stage.component.stage = stage
    own = Roots(SPOUT, 1, None)
    for frame in range(2):
        stage.receive_words(*(own.add(number) for number in range(100)), at=100 * frame, turn=False)
    stage.link.stopping = True
    stage.step()
    assert 0 < stage.component.seen < 100
    assert sum(map(_told, stage.acks)) == stage.component.seen


class Window(Bolt):
    """Acks nothing before it has seen `size` tuples, then all but the first, which it fails."""

    size = 70_000

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.held: list[Tuple] = []

    def process(self, tup: Tuple) -> None:
        self.held.append(tup)
        if len(self.held) == self.size:
            for held in self.held[1:]:
                self.ack(held)
            self.fail(self.held[0])


@pytest.mark.parametrize("whole", [True, False])
def test_a_window_of_many_tuples_is_acked_in_frames_that_any_socket_takes(whole: bool) -> None:
    stage = Stage(BOLT, Words, Window)
    own = Roots(SPOUT, 1, None)
    roots = [own.add(number) for number in range(Window.size)]
    stage.receive_words(*(root if whole else (root, 77) for root in roots))
    told = _merged(stage.acks)[SPOUT]
    assert (told.whole if whole else told.roots) == roots[1:]
    assert told.failed == roots[:1]
    assert max(len(payload) for prefix, payload in stage.link.frames if prefix.kind == ACK) < SMALLEST_LIMIT


def _told(message: tuple[int, Acks]) -> int:
    return len(message[1].whole)


def _merged(told: list[tuple[int, Acks]]) -> dict[int, Acks]:
    merged: dict[int, Acks] = {}
    for task, acks in told:
        have = merged.get(task, Acks([], [], [], []))
        merged[task] = Acks(
            [*have.whole, *acks.whole],
            have.roots + acks.roots,
            have.values + acks.values,
            have.failed + acks.failed,
        )
    return merged
