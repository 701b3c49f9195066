"""The inflow and the exchange: which frames are accepted, and what credit is given for them."""

from __future__ import annotations

import pytest
from support.tasks.plans import SINK, SOURCE, edge, plan_of

from heronpy.instances.counters import Counters
from heronpy.instances.flow_settings import FlowSettings
from heronpy.instances.input.inflow import Inflow, QueuedEnd, QueuedFrame
from heronpy.instances.near_rows import NearRows
from heronpy.instances.output.codec import PlainCodec
from heronpy.instances.output.outbox import Outbox
from heronpy.instances.task.frame_dispatch import FrameDispatch
from heronpy.kernel.flow.credit import HELLO, Grant
from heronpy.kernel.flow.frame import CREDIT, DATA, PROBE, SIGNAL, Prefix, seal, unseal
from heronpy.kernel.flow.sender import Sender
from heronpy.kernel.flow.signals import EndOfInput, encode_signal

MINE = 3
THEIRS = 8


class GrantLink:
    """A link that keeps the grants that are sent: (to whom, grant)."""

    stopping = False

    def __init__(self) -> None:
        self.grants: list[tuple[int, Grant]] = []

    def send(self, prefix: bytes, payload: bytes) -> None:
        read = unseal(prefix, payload)
        assert (read.kind, read.source, read.incarnation) == (CREDIT, SINK, MINE)
        self.grants.append((read.destination, Grant.decode(payload)))

    def pump(self, timeout: float) -> None:
        raise AssertionError


class Receiver:
    def __init__(self, spouts: int = 1) -> None:
        plan = plan_of(edge("shuffle"), spouts=spouts)
        self.task = spouts + 1
        self.link = GrantLink()
        self.counters = Counters()
        settings = FlowSettings(credit_initial=100, credit_window=0.25, credit_bytes=800_000)
        me = Sender(self.task, MINE, plan.epoch)
        self.inflow = Inflow(plan, me, self.link, settings, self.counters)
        outbox = Outbox(plan, me, PlainCodec(), self.link, settings, self.counters)
        self.exchange = FrameDispatch(me, self.inflow, outbox, self.counters)

    def get(
        self, kind: int, position: int, tuples: int = 0, *, source: int = SOURCE, payload: bytes = b""
    ) -> None:
        prefix = Prefix(kind, self.task, source, 0, tuples, 1, THEIRS, 0, position)
        self.exchange.on_frame(*seal(prefix, payload))


def test_a_new_task_greets_everybody_upstream() -> None:
    receiver = Receiver()
    receiver.inflow.greet()
    assert receiver.link.grants == [(SOURCE, HELLO)]


def test_frames_queue_up_and_consumption_gives_credit() -> None:
    receiver = Receiver()
    receiver.get(DATA, 0, 40)
    receiver.get(DATA, 40, 40)
    assert [one.prefix.position for one in receiver.inflow.inbox if isinstance(one, QueuedFrame)] == [0, 40]
    assert receiver.counters.queued == 80
    receiver.inflow.on_consumed(SOURCE, THEIRS, 10)
    receiver.inflow.on_consumed(SOURCE, THEIRS, 10)
    assert receiver.link.grants == [(SOURCE, Grant(THEIRS, 10, 110))]
    receiver.inflow.grant_all()
    receiver.inflow.grant_all()
    assert receiver.link.grants[1:] == [(SOURCE, Grant(THEIRS, 20, 120))]
    assert receiver.counters.queued == 60


def test_the_window_follows_the_pace_and_is_never_closed() -> None:
    receiver = Receiver()
    receiver.get(DATA, 0, 1010)
    receiver.inflow.on_consumed(SOURCE, THEIRS, 1000)
    receiver.inflow.on_pace(0.001, 0.25)
    receiver.inflow.on_consumed(SOURCE, THEIRS, 1)
    receiver.inflow.on_pace(60.0, 0.3)
    receiver.inflow.on_consumed(SOURCE, THEIRS, 9)
    limits = [grant.limit - grant.consumed for _, grant in receiver.link.grants]
    assert limits == [100, 250, 241]


def test_a_fast_task_to_which_little_comes_grants_little() -> None:
    """Its credit is what may be lost with an emitter, and it would take long to use it up."""
    receiver = Receiver()
    windows = []
    now, position = 0.0, 0
    for coming in (100, 1000, 10_000, 10, 10):
        now += 0.25
        receiver.get(DATA, position, coming)
        position += coming
        receiver.inflow.on_consumed(SOURCE, THEIRS, coming)
        receiver.inflow.on_pace(0.000_001, now)
        windows.append(receiver.inflow._window)
    assert windows == [200, 2000, 20_000, 100, 100]


def test_a_neighbour_in_the_process_is_granted_what_is_done_in_a_moment() -> None:
    """Its rows wait as objects; others, as bytes, are on their way for longer."""
    for near, limits in ((False, [1000, 250_000]), (True, [100, 5_000])):
        receiver = Receiver()
        rows = [("word", number) for number in range(10_000)]
        codec = PlainCodec()
        payload = NearRows(rows, b"", codec.encode) if near else codec.encode(rows)
        now, position, found = 0.0, 0, []
        for coming, seconds in ((10_000, 0.000_25), (200_000, 0.000_001)):
            receiver.inflow.on_data(Prefix(DATA, SINK, SOURCE, 0, coming, 1, THEIRS, 0, position), payload)
            position, now = position + coming, now + 0.25
            receiver.inflow.on_consumed(SOURCE, THEIRS, coming - 1)
            receiver.inflow.on_pace(seconds, now)
            receiver.inflow.on_consumed(SOURCE, THEIRS, 1)
            receiver.inflow.grant_all()
            _, grant = receiver.link.grants[-1]
            found.append(grant.limit - grant.consumed)
        assert found == limits


def test_large_tuples_are_granted_by_the_bytes_they_take() -> None:
    """Else an emitter at its byte mark waits until a busy receiver has worked off a far larger window."""
    receiver = Receiver()
    receiver.get(DATA, 0, 4, payload=bytes(400_000))
    receiver.get(DATA, 4, 4, payload=bytes(400_000))
    for _ in range(3):
        receiver.inflow.on_consumed(SOURCE, THEIRS, 2)
    assert receiver.link.grants == [(SOURCE, Grant(THEIRS, done, done + 8)) for done in (2, 4, 6)]


def test_gaps_are_counted_and_repeats_rejected() -> None:
    receiver = Receiver()
    receiver.get(DATA, 0, 10)
    receiver.get(DATA, 30, 10)
    receiver.get(DATA, 30, 10)
    assert (receiver.counters.missing, receiver.counters.rejected, len(receiver.inflow.inbox)) == (20, 1, 2)


def test_a_probe_is_answered_although_nothing_is_new() -> None:
    receiver = Receiver()
    receiver.get(DATA, 0, 10)
    for _ in range(2):
        receiver.get(PROBE, 25)
    assert receiver.counters.missing == 15
    assert receiver.link.grants == [(SOURCE, Grant(THEIRS, 15, 115))] * 2


def test_a_successor_gets_credit_when_what_its_predecessor_sent_is_processed() -> None:
    receiver = Receiver()
    receiver.get(PROBE, 0)
    receiver.get(DATA, 0, 10)
    receiver.link.grants.clear()
    successor = Prefix(DATA, SINK, SOURCE, 0, 5, 1, THEIRS + 1, 0, 0)
    receiver.exchange.on_frame(*seal(successor, b""))
    # a credit of 100 and two open batches, for a spout's may grow to twice its size
    assert (receiver.counters.missing, receiver.counters.maybe_lost) == (0, 100 + 2000)
    receiver.inflow.on_consumed(SOURCE, THEIRS, 9)
    receiver.inflow.grant_all()
    assert receiver.link.grants == []
    receiver.inflow.on_consumed(SOURCE, THEIRS, 1)
    receiver.inflow.on_consumed(SOURCE, THEIRS + 1, 5)
    receiver.inflow.grant_all()
    assert receiver.link.grants == [
        (SOURCE, Grant(THEIRS + 1, 0, 100)),
        (SOURCE, Grant(THEIRS + 1, 5, 105)),
    ]


@pytest.mark.parametrize(
    ("prefix", "payload"),
    [
        (Prefix(DATA, SINK + 1, SOURCE, 0, 1, 1, THEIRS, 0, 0), b""),  # for somebody else
        (Prefix(DATA, SINK, 99, 0, 1, 1, THEIRS, 0, 0), b""),  # from somebody who does not feed us
        (Prefix(CREDIT, SINK, SOURCE, 0, 0, 1, THEIRS, 0, 0), b"short"),
        (Prefix(CREDIT, SINK, 99, 0, 0, 1, THEIRS, 0, 0), HELLO.encode()),
    ],
)
def test_what_makes_no_sense_is_dropped_and_counted(prefix: Prefix, payload: bytes) -> None:
    receiver = Receiver()
    receiver.exchange.on_frame(*seal(prefix, payload))
    assert receiver.counters.rejected == 1
    assert not receiver.inflow.inbox


def test_damaged_bytes_are_dropped_and_counted() -> None:
    receiver = Receiver()
    sealed, _ = seal(Prefix(DATA, SINK, SOURCE, 0, 1, 1, THEIRS, 0, 0), b"payload")
    receiver.exchange.on_frame(sealed, b"pAyload")
    receiver.exchange.on_frame(b"", b"")
    assert receiver.counters.rejected == 2
    assert not receiver.inflow.inbox


def has_ended(receiver: Receiver) -> bool:
    return receiver.inflow.has_ended


def end_of(receiver: Receiver, position: int, *, source: int = SOURCE) -> None:
    receiver.get(SIGNAL, position, source=source, payload=encode_signal(EndOfInput()))
    while receiver.inflow.inbox:
        item = receiver.inflow.inbox.popleft()
        if isinstance(item, QueuedEnd):
            receiver.inflow.take_end(item)


def test_the_input_has_ended_when_all_emitters_have_and_have_sent_nothing_since() -> None:
    receiver = Receiver(spouts=2)
    assert not has_ended(receiver)
    end_of(receiver, 0)
    assert not has_ended(receiver)
    receiver.get(DATA, 0, 3, source=2, payload=b"x")
    end_of(receiver, 3, source=2)
    assert has_ended(receiver)
    end_of(receiver, 3, source=2)
    assert has_ended(receiver), "a repeat is no news"
    receiver.get(DATA, 0, 2, payload=b"x")
    assert not has_ended(receiver)
    end_of(receiver, 2)
    assert has_ended(receiver)


def test_an_emitter_with_plenty_of_credit_is_told_now_and_then() -> None:
    """At low rates a grant for each tuple would cost as much as the tuple."""
    receiver = Receiver()
    receiver.get(PROBE, 0)
    receiver.link.grants.clear()
    for number in range(20):
        now = 10 + number / 100
        receiver.get(DATA, number, 1)
        receiver.inflow.on_pace(0.001, now)
        receiver.inflow.on_consumed(SOURCE, THEIRS, 1)
        receiver.inflow.grant_due(now)
    assert receiver.link.grants == []
    assert receiver.inflow.patience(10.2, longest=0.5) == pytest.approx(0.05)
    receiver.inflow.grant_due(10.25)
    assert receiver.link.grants == [(SOURCE, Grant(THEIRS, 20, 120))]
    assert receiver.inflow.patience(10.25, longest=0.5) == 0.5


def test_an_emitter_that_waits_until_all_is_done_is_told_at_once() -> None:
    receiver = Receiver()
    receiver.get(PROBE, 0)
    receiver.get(DATA, 0, 3)
    receiver.get(SIGNAL, 3, payload=encode_signal(EndOfInput()))
    receiver.link.grants.clear()
    receiver.inflow.on_pace(0.001, 10.0)
    receiver.inflow.on_consumed(SOURCE, THEIRS, 3)
    receiver.inflow.grant_due(10.0)
    assert receiver.link.grants == [(SOURCE, Grant(THEIRS, 3, 103))]


def test_while_a_plan_is_replaced_everybody_is_told_at_once() -> None:
    receiver = Receiver()
    receiver.get(PROBE, 0)
    receiver.get(DATA, 0, 3)
    receiver.inflow.prepare(plan_of(edge("shuffle"), spouts=1))
    receiver.link.grants.clear()
    receiver.inflow.on_pace(0.001, 10.0)
    receiver.inflow.on_consumed(SOURCE, THEIRS, 3)
    receiver.inflow.grant_due(10.0)
    assert receiver.link.grants == [(SOURCE, Grant(THEIRS, 3, 103))]
