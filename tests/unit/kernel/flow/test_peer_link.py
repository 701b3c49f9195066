"""Links: whatever the road does to frames and replies, each arrives once and in order."""

from __future__ import annotations

import random
from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heronpy.kernel.errors import ProtocolError
from heronpy.kernel.flow.peer_link import (
    FRAME,
    MISSING,
    RECEIVED,
    SYNC,
    LinkReceiver,
    LinkSender,
    decode_head,
)


class Road:
    """Two ends and an unreliable road between them, driven by dice."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.sender, self.receiver = LinkSender(), LinkReceiver()
        self.forth: deque[tuple[bytes, ...]] = deque()
        self.back: deque[bytes] = deque()
        self.arrived: list[bytes] = []

    def transmit(self, most: int) -> None:
        for _ in range(most):
            frame = self.sender.next()
            if frame is None:
                return
            self.forth.append(frame)
            self.sender.left()

    def carry(self, most: int) -> None:
        for _ in range(min(most, len(self.forth))):
            head, *frame = self.forth.popleft()
            kind, number = decode_head(head)
            if kind == SYNC:
                self.receiver.on_sync(number)
            elif self.receiver.on_frame(number):
                self.arrived.append(frame[0])
        reply = self.receiver.reply()
        if reply is not None:
            self.back.append(reply)
        for _ in range(min(most, len(self.back))):
            self.sender.on_reply(self.back.popleft())

    def break_down(self) -> None:
        """A connection is lost: part of what is on it too, and the rest may come twice or in disorder."""
        kept = [frame for frame in self.forth if self.dice.random() < 0.5]
        if self.dice.random() < 0.3:
            self.dice.shuffle(kept)
        if self.dice.random() < 0.3:
            kept += kept[: len(kept) // 2]
        self.forth = deque(kept)
        self.back = deque(reply for reply in self.back if self.dice.random() < 0.5)

    def settle(self) -> None:
        """The road is good again."""
        for _ in range(10_000):
            self.transmit(5)
            self.forth.append((self.sender.sync(),))
            self.carry(10)
            if not self.sender.unconfirmed and not self.sender.unsent:
                return
        pytest.fail("the link does not heal")


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32), st.lists(st.sampled_from(["add", "send", "carry", "break"]), max_size=80))
def test_nothing_is_lost_repeated_or_reordered_between_the_same_two(seed: int, steps: list[str]) -> None:
    road = Road(seed)
    count = 0
    for step in steps:
        if step == "add":
            for _ in range(road.dice.randrange(1, 5)):
                road.sender.append(b"%d" % count, b"xx")
                count += 1
        elif step == "send":
            road.transmit(road.dice.randrange(1, 6))
        elif step == "carry":
            road.carry(road.dice.randrange(1, 6))
        else:
            road.break_down()
    road.settle()
    assert road.arrived == [b"%d" % number for number in range(count)]
    assert road.sender.bytes_held == 0


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20))
def test_a_successor_gets_exactly_what_never_left(total: int, sent: int, confirmed: int) -> None:
    sender = LinkSender()
    for number in range(total):
        sender.append(b"%d" % number, b"x")
    sent = min(sent, total)
    for _ in range(sent):
        sender.left()
    sender.on_reply(bytes([RECEIVED]) + min(confirmed, sent).to_bytes(8, "little"))
    assert sender.succeed() == sent - min(confirmed, sent)
    receiver, got = LinkReceiver(), []
    while (frame := sender.next()) is not None:
        assert receiver.on_frame(decode_head(frame[0])[1])
        got.append(frame[1])
        sender.left()
    assert got == [b"%d" % number for number in range(sent, total)]


def test_a_gap_is_told_once_while_the_frames_behind_it_arrive() -> None:
    receiver = LinkReceiver()
    assert receiver.on_frame(0)
    replies = []
    for number in (2, 3, 4):
        assert not receiver.on_frame(number)
        replies.append(receiver.reply())
    assert replies == [bytes([MISSING]) + (1).to_bytes(8, "little"), None, None]


@pytest.mark.parametrize(
    "reply",
    [b"", b"short", bytes(20), bytes([FRAME]) + bytes(8), bytes([RECEIVED]) + (4).to_bytes(8, "little")],
    ids=["empty", "short", "long", "kind", "future"],
)
def test_a_reply_that_cannot_be_is_refused_and_changes_nothing(reply: bytes) -> None:
    sender = LinkSender()
    for number in range(3):
        sender.append(b"%d" % number, b"x")
        sender.left()
    with pytest.raises(ProtocolError):
        sender.on_reply(reply)
    assert (sender.unconfirmed, sender.unsent) == (3, 0)
