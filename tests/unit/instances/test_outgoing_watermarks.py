"""Watermarks on their way out and in: behind the rows they follow, few of them, and none that overtakes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tasks.emitter import MY_INCARNATION, Emitter
from support.tasks.plans import SINK, SOURCE, edge, plan_of

from heronpy.instances.counters import Counters
from heronpy.instances.flow_settings import FlowSettings
from heronpy.instances.input.inflow import Inflow, QueuedFrame, QueuedWatermark
from heronpy.kernel.flow.credit import Grant
from heronpy.kernel.flow.frame import DATA, SIGNAL, Prefix
from heronpy.kernel.flow.sender import Sender
from heronpy.kernel.flow.signals import Barrier, EndOfInput, Signal, Watermark
from heronpy.kernel.flow.watermarks import END
from heronpy.kernel.plans import PhysicalPlan

STREAMS = ("default", "errors", "more")


def hearing(plan: PhysicalPlan) -> PhysicalPlan:
    """The same plan, whose bolt hears watermarks."""
    words, count = plan.logical.components
    heard = msgspec.structs.replace(count, hears_watermarks=True)
    logical = msgspec.structs.replace(plan.logical, components=(words, heard))
    return msgspec.structs.replace(plan, logical=logical)


class TimedEmitter(Emitter):
    def __init__(self, *, par: int = 1, **settings: Any) -> None:
        edges = [edge("shuffle", stream=stream) for stream in STREAMS]
        super().__init__(*edges, par=par, **{"credit_initial": 2, **settings})
        self.outbox.following.use_plan(hearing(self.plan))
        self.emitted = 0
        self.granted = self.settings.credit_initial

    def say(self, at: int, *, idle: bool = False) -> None:
        self.outbox.following.emit_watermark(at, idle=idle)

    def row(self, stream: int = 0) -> None:
        self.emit(str(self.emitted), self.emitted, stream=STREAMS[stream])
        self.emitted += 1

    def give(self, more: int) -> None:
        self.granted += more
        self.outbox.on_grant(SINK, 9, Grant(MY_INCARNATION, sum(self.link.sizes), self.granted))

    @property
    def signals(self) -> list[Signal]:
        return [frame.signal for frame in self.link.frames if frame.signal is not None]


STEPS = st.lists(
    st.tuples(st.sampled_from(["emit", "emit", "emit", "say", "say", "grant", "flush"]), st.integers(0, 2)),
    max_size=60,
)


@given(STEPS)
def test_no_watermark_overtakes_a_row_however_many_wait(steps: list[tuple[str, int]]) -> None:
    emitter = TimedEmitter(batch_tuples=1000, watermark_interval=0.0, watermark_per_receiver=0.0)
    for step, number in steps:
        match step:
            case "emit":
                emitter.row(number)
            case "say":
                emitter.say(emitter.emitted)  # rows are their own event time
            case "grant":
                emitter.give(number)
            case _:
                emitter.outbox.flush()
        assert all(len(channel.followers) <= 2 for channel in emitter.outbox._channels.values())
    emitter.give(1000)
    emitter.outbox.flush()
    came: set[int] = set()
    said: list[int] = []
    for frame in emitter.link.frames:
        came.update(row[1] for row in frame.rows)
        if isinstance(frame.signal, Watermark):
            assert came >= set(range(frame.signal.at)), f"overtook {set(range(frame.signal.at)) - came}"
            said.append(frame.signal.at)
    assert said == sorted(set(said))
    levels = {emitter.outbox.following.watermark} - {-(2**63)}
    assert set(said[-1:]) == levels, "the last one has got out"


def test_of_those_that_wait_the_first_and_the_last_leave() -> None:
    emitter = TimedEmitter(batch_tuples=1000, watermark_interval=0.0, watermark_per_receiver=0.0)
    for _ in range(5):
        emitter.row()
        emitter.say(emitter.emitted)
    assert emitter.signals == [Watermark(1)], "the second row waits for its company"
    emitter.give(1000)
    emitter.outbox.flush()
    assert emitter.signals == [Watermark(1), Watermark(2), Watermark(5)]


def test_at_full_speed_their_number_goes_by_the_clock_and_not_by_the_rows() -> None:
    emitter = TimedEmitter(credit_initial=10**6, batch_tuples=1000)
    began = emitter.now
    for _ in range(100_000):  # a million rows a second
        emitter.now += 1e-6
        emitter.row()
        emitter.say(emitter.emitted)
        if emitter.emitted % 100 == 0:
            emitter.outbox.probe()
    elapsed = emitter.now - began
    frames = len(emitter.signals)
    print(f"{frames} watermark frames for {emitter.emitted} rows in {elapsed:.3f} s")
    assert frames == pytest.approx(elapsed / 0.005, abs=1)


def test_the_more_tasks_are_told_the_rarer() -> None:
    emitter = TimedEmitter(par=8)
    for step in range(1000):
        emitter.now += 0.001
        emitter.say(step)
        emitter.outbox.probe()
    assert len(emitter.signals) == pytest.approx(8 * 1.0 / (8 * 0.002), rel=0.1)


def test_what_is_held_back_is_sent_when_its_time_has_come_and_the_end_at_once() -> None:
    emitter = TimedEmitter()
    following = emitter.outbox.following
    emitter.say(1)
    emitter.say(2)
    assert (emitter.signals, following.owes) == ([Watermark(1)], True)
    assert following.patience(0.5) == pytest.approx(0.005)
    emitter.now += 0.006
    emitter.outbox.probe()
    assert (emitter.signals, following.owes) == ([Watermark(1), Watermark(2)], False)
    assert following.patience(0.5) == 0.5
    emitter.say(3)
    following.follow(EndOfInput())
    assert emitter.signals[2:] == [Watermark(3), EndOfInput()], "the end does not overtake it"
    emitter.say(END)
    assert emitter.signals[-1] == Watermark(END)


def test_it_never_sinks_and_news_is_repeated_after_a_while() -> None:
    emitter = TimedEmitter()
    emitter.say(5)
    emitter.now += 1
    emitter.say(3)
    emitter.say(5)
    emitter.outbox.probe()
    assert emitter.signals == [Watermark(5)]
    emitter.say(4, idle=True)
    assert emitter.signals == [Watermark(5), Watermark(5, idle=True)]
    emitter.now += 2.1
    emitter.outbox.probe()
    assert emitter.signals[2:] == [Watermark(5, idle=True)]


class TimedReceiver:
    """Two emitters feed one task."""

    def __init__(self) -> None:
        plan = plan_of(edge("shuffle"), spouts=2)
        link: Any = Emitter().link
        self.inflow = Inflow(plan, Sender(3, 3, plan.epoch), link, FlowSettings(), Counters())
        self._sent = {1: 0, 2: 0}

    def signal(self, source: int, signal: Signal, epoch: int = 1) -> None:
        prefix = Prefix(SIGNAL, 3, source, 0, 0, epoch, 8, 0, self._sent[source])
        self.inflow.on_signal(prefix, signal)

    def row(self, source: int) -> None:
        self.inflow.on_data(Prefix(DATA, 3, source, 0, 1, 1, 8, 0, self._sent[source]), b"")
        self._sent[source] += 1

    @property
    def inbox(self) -> list[Any]:
        return [
            (item.source, item.at)
            if isinstance(item, QueuedWatermark)
            else item.prefix.source
            if isinstance(item, QueuedFrame)
            else item
            for item in self.inflow.inbox
        ]


def test_a_stuck_bolt_collects_one_watermark_for_each_emitter_and_batch() -> None:
    receiver = TimedReceiver()
    for at in (1, 2, 3):
        receiver.signal(SOURCE, Watermark(at))
        receiver.signal(2, Watermark(10 * at))
    receiver.row(SOURCE)
    for at in (4, 5):
        receiver.signal(SOURCE, Watermark(at))
    assert receiver.inbox == [(1, 3), (2, 30), 1, (1, 5)]
    first = receiver.inflow.inbox.popleft()
    assert isinstance(first, QueuedWatermark)
    receiver.inflow.take_watermark(first)
    receiver.signal(2, Watermark(40))
    assert receiver.inbox == [(2, 40), 1, (1, 5)]
    last = receiver.inflow.inbox.pop()
    assert isinstance(last, QueuedWatermark)
    receiver.inflow.take_watermark(last)
    receiver.signal(SOURCE, Watermark(6))
    assert (receiver.inbox, last.at) == ([(2, 40), 1, (1, 6)], 5), "what was taken does not change"


def test_a_watermark_behind_a_barrier_waits_with_the_rows_of_its_channel() -> None:
    receiver = TimedReceiver()
    receiver.signal(SOURCE, Watermark(1))
    receiver.signal(SOURCE, Barrier(1))
    receiver.signal(SOURCE, Watermark(2))
    receiver.row(SOURCE)
    receiver.signal(2, Watermark(9))
    assert receiver.inbox == [(1, 1), (2, 9)]
    receiver.signal(2, Barrier(1))
    receiver.signal(SOURCE, Watermark(3))
    assert receiver.inbox == [(1, 1), (2, 9), Barrier(1), (1, 2), 1, (1, 3)]
    receiver.signal(2, Watermark(10))
    assert receiver.inbox[-1] == (2, 10), "not in front of the barrier"
