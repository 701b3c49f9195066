"""Credit: one channel through losses, repeats, restarts of both sides, and late grants."""

from __future__ import annotations

import random
from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heronpy.kernel.errors import ProtocolError
from heronpy.kernel.flow.credit import HELLO, Arrival, Grant, LastWord, Receiving, Spending

INITIAL = 16
MAX_BYTES = 1000
WINDOW = 24
UNSENT = 6


def test_a_grant_travels() -> None:
    grant = Grant(3, 2**63, 2**64 - 1)
    assert Grant.decode(grant.encode()) == grant


@pytest.mark.parametrize("payload", [b"", b"x" * 16, b"x" * 25])
def test_a_malformed_grant_is_a_protocol_error(payload: bytes) -> None:
    with pytest.raises(ProtocolError, match=f"grant of {len(payload)} bytes instead of 24"):
        Grant.decode(payload)


def granted(limit: int = INITIAL) -> Spending:
    """The first incarnation of an emitter, which has got its first credit."""
    spending = Spending(1, MAX_BYTES)
    assert spending.on_grant(1, Grant(1, 0, limit))
    return spending


def test_an_emitter_sends_nothing_before_the_first_grant() -> None:
    """One that is restarted again and again would else fill the queue of a slow receiver."""
    spending = Spending(1, MAX_BYTES)
    assert spending.room() == 0
    assert spending.on_grant(1, HELLO)
    assert spending.room() == 0
    assert spending.on_grant(1, Grant(1, 0, 5))
    assert spending.room() == 5


def test_an_emitter_stops_at_its_limit_and_goes_on_after_a_grant() -> None:
    spending = granted()
    spending.spend(INITIAL, 10)
    assert (spending.room(), spending.idle) == (0, False)
    assert spending.on_grant(1, Grant(1, INITIAL, 40))
    assert (spending.room(), spending.idle, spending.bytes_in_flight) == (40 - INITIAL, True, 0)


def test_one_large_frame_passes_the_byte_limit_and_then_nothing() -> None:
    spending = granted()
    spending.spend(1, 5 * MAX_BYTES)
    assert spending.room() == 0
    spending.on_grant(1, Grant(1, 1, 100))
    assert spending.room() == 99


def test_late_and_repeated_grants_take_nothing_back() -> None:
    spending = granted()
    spending.spend(10, 10)
    spending.on_grant(1, Grant(1, 8, 40))
    spending.on_grant(1, Grant(1, 4, 20))
    spending.on_grant(1, Grant(1, 8, 40))
    assert (spending.consumed, spending.limit) == (8, 40)


def test_credit_of_a_predecessor_is_not_ours() -> None:
    """A spout that is started again finds grants in the queues that were meant for the one that died."""
    spending = Spending(2, MAX_BYTES)
    assert not spending.on_grant(7, Grant(1, 1_000_000, 1_000_100))
    assert (spending.room(), spending.consumed) == (0, 0)


def test_a_new_receiver_starts_over_and_its_predecessor_is_not_heard_any_more() -> None:
    spending = granted(50)
    spending.spend(50, 999)
    spending.on_grant(1, Grant(1, 20, 60))
    assert spending.on_grant(2, HELLO)
    assert (spending.idle, spending.bytes_in_flight, spending.room()) == (True, 0, 0)
    assert spending.maybe_lost == 30
    assert not spending.on_grant(1, Grant(1, 50, 5000))
    assert spending.on_grant(2, Grant(1, 50, 57))
    assert (spending.room(), spending.maybe_lost) == (7, 30)


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


def test_what_a_dead_emitter_may_have_held_is_its_credit_and_its_open_batches() -> None:
    receiving = Receiving(unsent=5)
    receiving.on_probe(1, 100)
    assert receiving.grant(20, idle=True) == Grant(1, 100, 120)
    receiving.on_frame(1, 100, 4)
    assert receiving.on_frame(2, 0, 1) == Arrival(True, 0)
    assert receiving.maybe_lost == 20 + 5
    receiving.on_consumed(1, 4)
    assert receiving.grant(40, idle=True) == Grant(2, 0, 40)
    receiving.on_frame(2, 1, 9)
    receiving.on_consumed(2, 3)
    receiving.on_probe(3, 0)
    assert receiving.maybe_lost == 20 + 5 + (40 - 3) + 5


def test_a_successor_gets_no_credit_until_what_its_predecessor_sent_is_worked_off() -> None:
    receiving = Receiving()
    receiving.on_frame(1, 0, 10)
    for successor in range(2, 50):
        assert receiving.on_probe(successor, 0) == 0
        assert receiving.grant(10, idle=True) is None
        assert receiving.queued == 10
    receiving.on_consumed(1, 9)
    assert receiving.grant(10, idle=True) is None
    receiving.on_consumed(1, 1)
    assert receiving.grant(10, idle=False) == Grant(49, 0, 10)


def test_what_a_receiver_had_that_was_replaced_as_planned_is_not_lost() -> None:
    spending = Spending(1, 10**6)
    spending.on_grant(5, Grant(1, 0, 10))
    spending.spend(8, 100)
    spending.on_grant(5, Grant(1, 3, 10))  # its last word may not have come
    spending.expect_successor()
    spending.on_grant(6, HELLO)
    assert (spending.maybe_lost, spending.unproven) == (0, 5)
    assert spending.idle
    spending.end_succession(carried_out=True)
    spending.on_grant(6, Grant(1, 8, 20))
    spending.spend(2, 100)
    spending.on_grant(7, HELLO)
    assert (spending.maybe_lost, spending.unproven) == (2, 0)


def test_a_successor_as_planned_that_is_heard_late_gets_nothing_on_its_predecessors_credit() -> None:
    spending = Spending(1, 10**6)
    spending.on_grant(5, Grant(1, 0, 840))
    spending.spend(8, 100)
    spending.expect_successor()
    spending.end_succession(carried_out=True)
    assert spending.room() == 0
    spending.on_grant(5, Grant(1, 8, 900))  # a late one
    assert spending.room() == 0
    spending.on_grant(6, HELLO)
    spending.on_grant(6, Grant(1, 8, 20))
    assert (spending.room(), spending.maybe_lost, spending.unproven) == (12, 0, 0)
    spending.spend(2, 100)
    spending.on_grant(7, HELLO)
    assert spending.maybe_lost == 2, "the next one was not planned"


def test_an_emitter_that_was_replaced_as_planned_and_is_heard_late_took_nothing_along() -> None:
    receiving = Receiving(unsent=1000)
    receiving.on_frame(5, 0, 10)
    receiving.on_consumed(5, 10)
    receiving.grant(500, idle=True)
    receiving.expect_successor()
    receiving.end_succession(carried_out=True)
    assert receiving.on_probe(7, 0, [LastWord(5, 10, 3), LastWord(6, 0, 2)]) == 0
    assert receiving.maybe_lost == 2, "of the one between, which was not planned to die"
    receiving.grant(500, idle=True)
    receiving.on_probe(8, 0)
    assert receiving.maybe_lost == 2 + 500 + 1000


def test_a_succession_that_was_rolled_back_counts_as_any_death() -> None:
    spending, receiving = Spending(1, 10**6), Receiving()
    spending.on_grant(5, Grant(1, 0, 10))
    spending.spend(8, 100)
    spending.expect_successor()
    spending.end_succession(carried_out=False)
    assert spending.room() == 2
    spending.on_grant(6, HELLO)
    assert spending.maybe_lost == 8
    receiving.on_frame(5, 0, 10)
    receiving.grant(500, idle=True)
    receiving.expect_successor()
    receiving.end_succession(carried_out=False)
    receiving.on_probe(6, 0)
    assert receiving.maybe_lost == 500


def test_grants_come_for_a_quarter_of_a_window_or_when_idle() -> None:
    receiving = Receiving()
    receiving.on_frame(1, 0, 100)
    assert receiving.grant(40, idle=False) == Grant(1, 0, 40)
    receiving.on_consumed(1, 9)
    assert receiving.grant(40, idle=False) is None
    assert receiving.grant(40, idle=True) == Grant(1, 9, 49)
    assert receiving.grant(40, idle=True) is None
    receiving.on_consumed(1, 10)
    assert receiving.grant(40, idle=False) == Grant(1, 19, 59)


def test_a_window_that_has_grown_is_told_although_little_was_consumed() -> None:
    """The emitter can only use up the old window, and would wait for a quarter of the new one."""
    receiving = Receiving()
    receiving.on_frame(1, 0, 10)
    receiving.grant(10, idle=False)
    receiving.on_consumed(1, 1)
    assert receiving.grant(1000, idle=False) == Grant(1, 1, 1001)


class Channel:
    """An emitter and a receiver with a bad network between them."""

    def __init__(self, dice: random.Random, *, written: bool = False) -> None:
        self.dice = dice
        #: whether emitters write down how far they are, and what those that died had written
        self.written = written
        self.last_words: list[LastWord] = []
        self.emitter = 1
        self.receiver = 1
        self.spending = Spending(self.emitter, MAX_BYTES)
        self.receiving = Receiving(UNSENT)
        #: tuples in open batches of the emitter
        self.unsent = 0
        #: all that was ever emitted, and all that was ever processed
        self.emitted = 0
        self.processed = 0
        #: of processes that have died
        self.known_missing = 0
        self.known_maybe = 0
        #: whether the first frame has been delivered and will be again
        self.repeats = False
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
        wanted = self.dice.randint(1, UNSENT)
        self.emitted += max(wanted - self.unsent, 0)
        self.unsent = max(wanted, self.unsent)
        count = min(self.spending.room(), wanted)
        if count > 0:
            self.unsent -= count
            self.frames.append((self.emitter, self.spending.sent, count))
            self.spending.spend(count, 10 * count)

    def probe(self) -> None:
        if self.spending.room() <= 0:
            self.frames.append((self.emitter, self.spending.sent, 0))

    def deliver(self) -> None:
        if not self.frames:
            return
        emitter, position, count = self.frames[0]
        self.repeats = self.dice.random() < 0.1
        if not self.repeats:
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
            last = [word for word in self.last_words if word.emitter < emitter]
            missing = self.receiving.on_probe(emitter, position, last)
            self.say(idle=True)
        self.known_missing += missing
        self.missing = missing if self.receiving.source != before else self.missing + missing
        if before and self.receiving.source != before:
            self.first_seen = 0

    def consume(self) -> None:
        if self.queue:
            emitter, count = self.queue.popleft()
            self.processed += count
            self.receiving.on_consumed(emitter, count)
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
            if heard[1].is_hello:
                self.probe()

    def lose(self) -> None:
        for road in (self.frames, self.grants):
            if road and self.dice.random() < 0.5:
                number = self.dice.randrange(len(road))
                del road[number]
                if road is self.frames and number == 0:
                    self.repeats = False

    def restart_emitter(self) -> None:
        self.known_maybe += self.spending.maybe_lost
        if self.written:
            self.last_words.append(LastWord(self.emitter, self.spending.sent, self.unsent))
        self.unsent = 0
        self.emitter += 1
        self.spending = Spending(self.emitter, MAX_BYTES)
        self.frames.append((self.emitter, 0, 0))

    def restart_receiver(self) -> None:
        self.known_maybe += self.receiving.maybe_lost
        hello = HELLO
        if self.written and self.receiving.source:
            hello = Grant(self.receiving.source, self.receiving.consumed, limit=0)
        if self.repeats:  # nobody sends to a successor what its predecessor was sent
            self.frames.popleft()
            self.repeats = False
        self.receiver += 1
        self.receiving = Receiving(UNSENT)
        self.queue.clear()
        self.accepted.clear()
        self.granted.clear()
        self.first_seen = None
        self.missing = 0
        self.grants.append((self.receiver, hello))

    @property
    def acquainted(self) -> bool:
        """Whether each side has heard of the other as it is now."""
        return self.spending.receiver == self.receiver and self.receiving.source == self.emitter

    @property
    def maybe_lost(self) -> int:
        return self.known_maybe + self.spending.maybe_lost + self.receiving.maybe_lost

    def settle(self) -> None:
        """The network behaves from now on; probes must be enough to get everything moving again."""
        for _ in range(3):
            self.frames.append((self.emitter, self.spending.sent, 0))
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
        channel = Channel(random.Random(seed))
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
    """While the receiver lives: whatever is lost, and however often the emitter is started again."""
    channel = Channel(random.Random(seed))
    for _ in range(500):
        step = "restart_emitter" if channel.dice.random() < 0.02 else channel.dice.choice(STEPS)
        getattr(channel, step)()
        assert channel.spending.sent <= channel.granted.get(channel.emitter, 0)
        assert channel.receiving.queued <= WINDOW


@settings(max_examples=300, deadline=None)
@given(
    steps=st.lists(st.sampled_from([*STEPS, *STEPS, *RESTARTS]), max_size=250),
    seed=st.integers(0, 2**32),
)
@pytest.mark.parametrize("written", [False, True])
def test_what_was_lost_lies_in_the_interval_that_is_reported(
    steps: list[str], seed: int, written: bool
) -> None:
    """As long as no two die before either has heard of the other: then nobody is left who knew."""
    channel = Channel(random.Random(seed), written=written)
    for step in steps:
        if step in RESTARTS and not channel.acquainted:
            continue
        before = channel.maybe_lost
        getattr(channel, step)()
        assert channel.maybe_lost - before <= WINDOW + UNSENT
    channel.settle()
    while channel.unsent:
        channel.emit()
        channel.settle()
    lost = channel.emitted - channel.processed
    assert channel.known_missing <= lost <= channel.known_missing + channel.maybe_lost


@settings(max_examples=300, deadline=None)
@given(
    steps=st.lists(st.sampled_from([*STEPS, *STEPS, "restart_emitter"]), max_size=250),
    seed=st.integers(0, 2**32),
)
def test_emitters_that_write_down_how_far_they_are_leave_no_doubt(steps: list[str], seed: int) -> None:
    """Also if one dies before it was heard: the next tells of both."""
    channel = Channel(random.Random(seed), written=True)
    for step in steps:
        getattr(channel, step)()
    channel.settle()
    while channel.unsent:
        channel.emit()
        channel.settle()
    assert channel.emitted - channel.processed == channel.known_missing + channel.maybe_lost
