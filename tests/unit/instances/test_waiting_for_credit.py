"""An emitter whose receiver gives no credit: it pauses, says who holds it up, and asks."""

from __future__ import annotations

import pytest
from support.tasks.emitter import Emitter
from support.tasks.plans import edge

from heronpy.kernel.flow.frame import DATA, PROBE


def test_a_spout_without_credit_may_end_its_call_and_then_pauses() -> None:
    emitter = Emitter(credit_initial=1, batch_tuples=4)
    for number in range(5):
        emitter.emit("word", number)
        assert bool(emitter.outbox.overfull) is (number == 4)
    for number in range(5, 8):  # the same call of next_tuple emits some more
        emitter.emit("word", number)
    emitter.grant(1, 4)
    emitter.outbox.relieve()
    assert emitter.link.sizes == [1, 3]
    assert emitter.outbox.overfull
    emitter.grant(4, 6)
    emitter.outbox.relieve()
    assert not emitter.outbox.overfull
    assert emitter.link.values == [["word", number] for number in range(6)]


def test_one_call_may_emit_any_number_where_emit_may_not_wait_and_all_of_it_is_exposed() -> None:
    emitter = Emitter(credit_initial=1, batch_tuples=4, may_wait=False)
    usual = emitter.counters.exposed
    for number in range(101):
        emitter.emit("word", number)
    assert emitter.link.sizes == [1]
    assert emitter.counters.exposed >= 100
    emitter.grant(1, 98)
    emitter.outbox.relieve()
    assert not emitter.outbox.overfull
    assert emitter.link.values == [["word", number] for number in range(98)]
    emitter.grant(98, 98)
    assert emitter.counters.exposed < 100 + usual


def test_large_tuples_pause_a_spout_whose_receiver_has_not_spoken_yet() -> None:
    """Nothing has been sent, so no batch has told how large they are; a thousand of them must not pile up."""
    emitter = Emitter(credit_initial=0, batch_bytes=10_000)
    for number in range(10):
        assert not emitter.outbox.overfull
        emitter.emit("x" * 990, number)
    assert emitter.outbox.overfull
    emitter.grant(0, 100)
    emitter.outbox.relieve()
    assert emitter.link.sizes == [10]


def test_who_holds_us_up_is_known_until_nothing_waits_for_it_any_more() -> None:
    """A slow receiver gives a little credit now and then; it is one hold-up all the same."""
    emitter = Emitter(edge("all"), par=2, credit_initial=1, batch_tuples=10)
    for number in range(4):
        emitter.emit("word", number)
    emitter.grant(1, 100, task=3)
    emitter.outbox.flush()
    for sent in (2, 3):
        emitter.now += 1.0
        emitter.grant(sent, sent)
        emitter.outbox.flush()
        assert emitter.outbox.hold_ups.lasting() == {2: pytest.approx(sent - 1)}
    emitter.grant(3, 50)
    assert 2 in emitter.outbox.hold_ups
    emitter.outbox.flush()
    assert emitter.outbox.hold_ups.lasting() == {}
    assert emitter.outbox.hold_ups.seconds() == {"count[0]": pytest.approx(2.0)}


def test_a_hold_up_that_lasts_has_a_line_in_the_log_and_one_when_it_ends(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    emitter = Emitter(credit_initial=1)
    for number in range(2):
        emitter.emit("word", number)
    for _ in range(30):
        emitter.now += 0.1
        emitter.outbox.flush_due()
    assert caplog.messages == ["held up by count[0] in container 2, which gives no credit"]
    emitter.grant(1, 10)
    emitter.outbox.flush()
    assert caplog.messages[1:] == ["no longer held up by count[0], after 2.9 s"]


def test_a_short_wait_for_credit_is_no_news(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    emitter = Emitter(credit_initial=1)
    for number in range(2):
        emitter.emit("word", number)
    for _ in range(5):
        emitter.now += 0.1
        emitter.outbox.flush_due()
    emitter.grant(1, 10)
    emitter.outbox.flush_due()
    assert caplog.messages == []


def test_a_receiver_that_says_nothing_about_the_last_tuple_is_asked() -> None:
    """Nothing waits for credit, but the tuple may have been lost, and only a probe would show it."""
    emitter = Emitter(credit_probe=1.0)
    emitter.emit("word", 0)
    for _ in range(25):
        emitter.now += 0.1
        emitter.outbox.flush_due()
    assert [frame.prefix.kind for frame in emitter.link.frames] == [DATA, PROBE, PROBE]
    emitter.grant(1, 100)
    for _ in range(25):
        emitter.now += 0.1
        emitter.outbox.flush_due()
    assert len(emitter.link.frames) == 3


def test_a_receiver_that_gets_on_is_not_asked() -> None:
    emitter = Emitter(credit_probe=1.0)
    for number in range(30):
        emitter.emit("word", number)
        emitter.now += 0.1
        emitter.outbox.flush_due()
        emitter.grant(number, 100)
    assert {frame.prefix.kind for frame in emitter.link.frames} == {DATA}


def test_credit_for_all_relieves_two_streams_whichever_was_full_first() -> None:
    emitter = Emitter(edge("shuffle"), edge("shuffle", stream="late"), credit_initial=1, batch_tuples=4)
    emitter.emit("taken", 0)
    emitter.emit("default", 1)
    for number in range(2, 6):
        emitter.emit("late", number, stream="late")
    for number in range(6, 9):
        emitter.emit("default", number)
    assert len(emitter.outbox.overfull) == 2
    emitter.grant(1, 100)
    emitter.outbox.relieve()
    assert [number for _, number in emitter.link.values] == [0, 1, 6, 7, 8, 2, 3, 4, 5]
    assert not emitter.outbox.overfull
    assert not emitter.outbox.waiting
