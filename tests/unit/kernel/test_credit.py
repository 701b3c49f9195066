"""Credit: one channel through losses, repeats, restarts of both sides, and late grants."""

from __future__ import annotations

import random
from collections import deque

import pytest

from heronpy.kernel.credit import HELLO, Arrival, Grant, Receiving, Spending
from heronpy.kernel.errors import ProtocolError

INITIAL = 16
MAX_BYTES = 1000
WINDOW = 24


def test_a_grant_travels() -> None:
    grant = Grant(3, 2**63, 2**64 - 1)
    assert Grant.decode(grant.encode()) == grant


@pytest.mark.parametrize("payload", [b"", b"x" * 16, b"x" * 25])
def test_a_malformed_grant_is_a_protocol_error(payload: bytes) -> None:
    with pytest.raises(ProtocolError, match=f"grant of {len(payload)} bytes instead of 24"):
        Grant.decode(payload)


def test_an_emitter_stops_at_its_limit_and_goes_on_after_a_grant() -> None:
    spending = Spending(1, INITIAL, MAX_BYTES)
    spending.spend(INITIAL, 10)
    assert (spending.room(), spending.idle) == (0, False)
    assert spending.on_grant(1, Grant(1, INITIAL, 40))
    assert (spending.room(), spending.idle, spending.bytes_in_flight) == (40 - INITIAL, True, 0)


def test_one_large_frame_passes_the_byte_limit_and_then_nothing() -> None:
    spending = Spending(1, INITIAL, MAX_BYTES)
    spending.spend(1, 5 * MAX_BYTES)
    assert spending.room() == 0
    spending.on_grant(1, Grant(1, 1, 100))
    assert spending.room() == 99


def test_late_and_repeated_grants_take_nothing_back() -> None:
    spending = Spending(1, INITIAL, MAX_BYTES)
    spending.spend(10, 10)
    spending.on_grant(1, Grant(1, 8, 40))
    spending.on_grant(1, Grant(1, 4, 20))
    spending.on_grant(1, Grant(1, 8, 40))
    assert (spending.consumed, spending.limit) == (8, 40)


def test_credit_of_a_predecessor_is_not_ours() -> None:
    """A spout that is started again finds grants in the queues that were meant for the one that died."""
    spending = Spending(2, INITIAL, MAX_BYTES)
    assert not spending.on_grant(7, Grant(1, 1_000_000, 1_000_100))
    spending.spend(INITIAL, 10)
    assert spending.room() == 0
    assert not spending.idle


def test_a_new_receiver_starts_over_and_its_predecessor_is_not_heard_any_more() -> None:
    spending = Spending(1, INITIAL, MAX_BYTES)
    spending.on_grant(1, Grant(1, 0, 50))
    spending.spend(50, 999)
    assert spending.on_grant(2, HELLO)
    assert (spending.idle, spending.bytes_in_flight, spending.room()) == (True, 0, INITIAL)
    assert not spending.on_grant(1, Grant(1, 50, 5000))
    assert spending.room() == INITIAL


def test_gaps_are_counted_and_repeats_refused() -> None:
    receiving = Receiving()
    assert receiving.on_frame(1, 0, 10) == Arrival(True, 0)
    assert receiving.on_frame(1, 0, 10) == Arrival(False, 0)
    assert receiving.on_frame(1, 25, 5) == Arrival(True, 15)
    assert receiving.on_frame(1, 10, 15) == Arrival(False, 0)
    assert receiving.queued == 15


def test_a_receiver_that_starts_late_misses_nothing_of_its_predecessors() -> None:
    receiving = Receiving()
    assert receiving.on_frame(4, 1000, 10) == Arrival(True, 0)


def test_all_that_a_new_emitter_sent_to_a_receiver_that_lives_is_accounted_for() -> None:
    receiving = Receiving()
    receiving.on_frame(1, 0, 10)
    assert receiving.on_frame(2, 30, 10) == Arrival(True, 30)
    assert receiving.on_frame(1, 10, 10) == Arrival(False, 0)
    assert receiving.on_probe(3, 7) == 7
    assert receiving.on_probe(2, 50) == 0


def test_grants_come_for_a_quarter_of_a_window_or_when_idle() -> None:
    receiving = Receiving()
    receiving.on_frame(1, 0, 100)
    assert receiving.grant(40, idle=False) == Grant(1, 0, 40)
    receiving.on_consumed(9)
    assert receiving.grant(40, idle=False) is None
    assert receiving.grant(40, idle=True) == Grant(1, 9, 49)
    assert receiving.grant(40, idle=True) is None
    receiving.on_consumed(10)
    assert receiving.grant(40, idle=False) == Grant(1, 19, 59)


def test_a_window_that_has_grown_is_told_although_little_was_consumed() -> None:
    """The emitter can only use up the old window, and would wait for a quarter of the new one."""
    receiving = Receiving()
    receiving.on_frame(1, 0, 10)
    receiving.grant(10, idle=False)
    receiving.on_consumed(1)
    assert receiving.grant(1000, idle=False) == Grant(1, 1, 1001)


class Channel:
    """An emitter and a receiver with a bad network between them."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.emitter = 1
        self.receiver = 1
        self.spending = Spending(self.emitter, INITIAL, MAX_BYTES)
        self.receiving = Receiving()
        #: (emitter, position, count); a probe has count 0
        self.frames: deque[tuple[int, int, int]] = deque()
        self.grants: list[tuple[int, Grant]] = []
        self.queue: deque[tuple[int, int]] = deque()
        #: emitter → most that the living receiver ever granted it
        self.granted: dict[int, int] = {}
        #: of the living pair
        self.first_seen: int | None = None
        self.accepted: set[tuple[int, int]] = set()
        self.missing = 0

    def emit(self) -> None:
        count = min(self.spending.room(), self.dice.randint(1, 6))
        if count > 0:
            self.frames.append((self.emitter, self.spending.sent, count))
            self.spending.spend(count, 10 * count)

    def probe(self) -> None:
        if self.spending.room() <= 0:
            self.frames.append((self.emitter, self.spending.sent, 0))

    def deliver(self) -> None:
        if not self.frames:
            return
        emitter, position, count = self.frames[0]
        if self.dice.random() > 0.1:  # else it comes again
            self.frames.popleft()
        if self.first_seen is None and emitter >= self.receiving.source:
            self.first_seen = position
        before = self.receiving.source
        if count:
            verdict = self.receiving.on_frame(emitter, position, count)
            missing = verdict.missing
            if verdict.accepted:
                tuples = {(emitter, number) for number in range(position, position + count)}
                assert not tuples & self.accepted, "accepted twice"
                self.accepted |= tuples
                self.queue.append((emitter, count))
        else:
            missing = self.receiving.on_probe(emitter, position)
            self.say(idle=True)
        self.missing = missing if self.receiving.source != before else self.missing + missing
        if before and self.receiving.source != before:
            self.first_seen = 0

    def consume(self) -> None:
        if self.queue:
            emitter, count = self.queue.popleft()
            if emitter == self.receiving.source:
                self.receiving.on_consumed(count)
        self.say(idle=not self.queue)

    def say(self, *, idle: bool) -> None:
        grant = self.receiving.grant(self.dice.randint(1, WINDOW), idle=idle)
        if grant is not None:
            self.granted[grant.emitter] = grant.limit
            self.grants.append((self.receiver, grant))

    def hear(self) -> None:
        if self.grants:
            number = self.dice.randrange(len(self.grants))
            heard = self.grants[number] if self.dice.random() < 0.1 else self.grants.pop(number)
            self.spending.on_grant(*heard)

    def lose(self) -> None:
        for road in (self.frames, self.grants):
            if road and self.dice.random() < 0.5:
                del road[self.dice.randrange(len(road))]

    def restart_emitter(self) -> None:
        self.emitter += 1
        self.spending = Spending(self.emitter, INITIAL, MAX_BYTES)

    def restart_receiver(self) -> None:
        self.receiver += 1
        self.receiving = Receiving()
        self.queue.clear()
        self.accepted.clear()
        self.granted.clear()
        self.first_seen = None
        self.missing = 0
        self.grants.append((self.receiver, HELLO))

    def settle(self) -> None:
        """The network behaves from now on; probes must be enough to get everything moving again."""
        for _ in range(3):
            self.probe()
            while self.frames:
                self.deliver()
            while self.queue:
                self.consume()
            self.say(idle=True)
            while self.grants:
                self.hear()


STEPS = [
    "emit",
    "emit",
    "deliver",
    "deliver",
    "deliver",
    "consume",
    "consume",
    "hear",
    "hear",
    "lose",
    "probe",
]
RESTARTS = ["restart_emitter", "restart_receiver"]


@pytest.mark.parametrize("block", range(10))
def test_a_channel_survives_everything(block: int) -> None:
    for seed in range(block * 20, block * 20 + 20):
        channel = Channel(seed)
        for _ in range(300):
            choice = STEPS if channel.dice.random() > 0.02 else RESTARTS
            getattr(channel, channel.dice.choice(choice))()
            assert channel.spending.sent <= channel.spending.limit, seed
            assert channel.receiving.queued >= 0, seed
        channel.settle()
        assert channel.spending.room() > 0, f"seed {seed}: deadlock"
        channel.emit()
        channel.settle()
        assert channel.spending.idle, seed
        assert channel.spending.bytes_in_flight == 0, seed
        ours = sum(emitter == channel.emitter for emitter, _ in channel.accepted)
        assert channel.first_seen is not None
        assert ours + channel.missing == channel.spending.sent - channel.first_seen, seed


@pytest.mark.parametrize("seed", range(50))
def test_no_more_is_sent_than_was_granted(seed: int) -> None:
    """While the receiver lives: whatever dies or is lost, a new emitter begins with the initial credit."""
    channel = Channel(seed)
    for _ in range(500):
        step = "restart_emitter" if channel.dice.random() < 0.02 else channel.dice.choice(STEPS)
        getattr(channel, step)()
        assert channel.spending.sent <= max(INITIAL, channel.granted.get(channel.emitter, 0))
        assert channel.receiving.queued <= max(INITIAL, WINDOW)
