"""Signals that follow rows: none overtakes a row that was emitted before it, whatever credit does."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tasks.emitter import MY_INCARNATION, Emitter
from support.tasks.plans import SINK, edge

from heronpy.kernel.flow.credit import HELLO, Grant
from heronpy.kernel.flow.signals import EndOfInput

STREAMS = ("default", "errors", "more")


class Channel:
    """One channel with three streams; rows are numbered in the order of emission."""

    def __init__(self, **settings: Any) -> None:
        self.emitter = Emitter(
            *(edge("shuffle", stream=stream) for stream in STREAMS), credit_initial=2, **settings
        )
        self.emitted = 0
        self.granted = 2
        #: for each follower, how many rows had been emitted before it
        self.follows: list[int] = []

    def emit(self, stream: int) -> None:
        self.emitter.emit(str(self.emitted), self.emitted, stream=STREAMS[stream])
        self.emitted += 1

    def follow(self) -> None:
        self.follows.append(self.emitted)
        self.emitter.outbox.following.follow(EndOfInput())

    def grant(self, more: int) -> None:
        self.granted += more
        sent = sum(self.emitter.link.sizes)
        self.emitter.outbox.on_grant(SINK, 9, Grant(MY_INCARNATION, sent, self.granted))

    def check(self) -> None:
        """Each follower is behind all rows before it; the order of followers is that of their calls."""
        came: set[int] = set()
        followers = iter(self.follows)
        for frame in self.emitter.link.frames:
            came.update(row[1] for row in frame.rows)
            if frame.signal is not None:
                before = next(followers)
                assert came >= set(range(before)), f"overtook {set(range(before)) - came}"


STEPS = st.lists(
    st.tuples(st.sampled_from(["emit", "emit", "emit", "follow", "grant", "flush"]), st.integers(0, 2)),
    max_size=60,
)


@given(STEPS, st.integers(1, 5))
def test_no_follower_overtakes_a_row_that_was_emitted_before_it(
    steps: list[tuple[str, int]], batch: int
) -> None:
    channel = Channel(batch_tuples=batch * 100)
    for step, number in steps:
        match step:
            case "emit":
                channel.emit(number)
            case "follow":
                channel.follow()
            case "grant":
                channel.grant(number)
            case _:
                channel.emitter.outbox.flush()
        channel.check()
    channel.grant(1000)
    channel.emitter.outbox.flush()
    channel.check()
    signals = [frame for frame in channel.emitter.link.frames if frame.signal is not None]
    assert len(signals) == len(channel.follows)


def test_a_follower_waits_for_credit_with_the_rows_before_it_and_not_for_those_behind() -> None:
    channel = Channel(batch_tuples=100)
    for stream in (0, 0, 0, 1):
        channel.emit(stream)
    channel.follow()
    channel.emit(0)
    link = channel.emitter.link
    channel.emitter.outbox.flush()
    assert [frame.signal for frame in link.frames if frame.signal] == []
    channel.grant(2)
    channel.emitter.outbox.flush()
    assert link.frames[-1].signal is None, "a row of the first stream, emitted later, took the credit"
    channel.grant(1)
    channel.emitter.outbox.flush()
    assert link.frames[-1].signal == EndOfInput()


def test_rows_that_are_dropped_hold_no_follower_back() -> None:
    channel = Channel(batch_tuples=2, drop=True)
    for _ in range(7):
        channel.emit(0)
    channel.follow()
    channel.grant(10)
    channel.emitter.outbox.flush()
    assert channel.emitter.link.frames[-1].signal == EndOfInput()
    assert channel.emitter.counters.dropped == {"default": 4}


def test_a_follower_is_repeated_for_receivers_that_have_missed_it() -> None:
    channel = Channel()
    channel.follow()
    times = []
    for _ in range(5000):
        channel.emitter.now += 0.1
        before = len(channel.emitter.link.frames)
        channel.emitter.outbox.probe()
        if any(frame.signal is not None for frame in channel.emitter.link.frames[before:]):
            times.append(channel.emitter.now)
    pauses = [after - before for before, after in itertools.pairwise(times)]
    assert pauses[:3] == pytest.approx([1, 2, 4], rel=0.3), "each is twice the one before"
    assert max(pauses) < 61
    channel.emitter.outbox.on_grant(SINK, 10, HELLO)
    channel.emitter.now += 0.3
    channel.emitter.outbox.probe()
    assert channel.emitter.link.frames[-1].signal == EndOfInput(), "a new receiver has it at once"


def test_a_follower_waits_while_its_channel_is_held_for_a_change_of_plan() -> None:
    channel = Channel()
    channel.emitter.outbox.hold()
    channel.follow()
    link = channel.emitter.link
    assert [frame for frame in link.frames if frame.signal is not None] == []
    channel.emitter.outbox.release()
    assert link.frames[-1].signal == EndOfInput()
