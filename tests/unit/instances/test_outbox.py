"""The outbox and the collector: when a batch leaves, how large it is, and what emit refuses."""

from __future__ import annotations

import re
import threading
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.tasks.emitter import MY_INCARNATION, RECEIVER, Emitter
from support.tasks.plans import SINK, SOURCE, edge

from heronpy.instances.output.outbox import Stopping
from heronpy.kernel.errors import TopologyError, TupleTooLarge
from heronpy.kernel.flow.credit import HELLO, Grant
from heronpy.kernel.flow.frame import DATA, PROBE, Prefix


def test_the_first_tuple_leaves_at_once_and_the_next_wait_for_company() -> None:
    emitter = Emitter()
    for number in range(5):
        emitter.emit("word", number)
    assert emitter.link.sizes == [1]
    emitter.outbox.flush_due()
    assert emitter.link.sizes == [1]
    emitter.now += emitter.settings.linger
    emitter.outbox.flush_due()
    assert emitter.link.sizes == [1, 4]
    assert emitter.link.values == [["word", number] for number in range(5)]
    assert not emitter.outbox.waiting


def test_a_receiver_that_has_finished_gets_the_next_tuple_at_once() -> None:
    emitter = Emitter()
    emitter.emit("word", 0)
    emitter.grant(1, 100)
    emitter.emit("word", 1)
    assert emitter.link.sizes == [1, 1]


def test_a_batch_leaves_when_it_is_full() -> None:
    emitter = Emitter(batch_tuples=10)
    for number in range(25):
        emitter.emit("word", number)
    assert emitter.link.sizes == [1, 10, 10]


def test_a_batch_of_large_tuples_is_smaller() -> None:
    emitter = Emitter(batch_bytes=10_000)
    for number in range(50):
        emitter.emit("x" * 990, number)
    emitter.outbox.flush()
    assert emitter.link.sizes[0] == 1
    assert max(emitter.link.sizes) == 10
    assert sum(emitter.link.sizes) == 50


def test_a_frame_says_where_it_is_from_and_how_far_the_channel_is() -> None:
    emitter = Emitter()
    emitter.emit("a", 1)
    emitter.emit("b", 2)
    emitter.emit("c", 3)
    emitter.outbox.flush()
    assert [frame.prefix for frame in emitter.link.frames] == [
        Prefix(DATA, SINK, SOURCE, 0, 1, 1, MY_INCARNATION, 0, 0),
        Prefix(DATA, SINK, SOURCE, 0, 2, 1, MY_INCARNATION, 0, 1),
    ]


def test_frames_shrink_to_the_credit_there_is_and_the_rest_stays() -> None:
    emitter = Emitter(credit_initial=4)
    for number in range(10):
        emitter.emit("word", number)
    emitter.outbox.flush()
    assert emitter.link.sizes == [1, 3]
    assert emitter.outbox.waiting
    emitter.grant(0, 6)
    emitter.outbox.flush()
    assert emitter.link.sizes == [1, 3, 2]
    emitter.grant(6, 100)
    emitter.outbox.flush()
    assert emitter.link.values == [["word", number] for number in range(10)]


def test_emit_waits_for_credit_with_the_sockets_served() -> None:
    emitter = Emitter(credit_initial=4, batch_tuples=2)

    def pump() -> None:
        assert emitter.outbox.held_up_by == SINK
        emitter.now += 0.5
        emitter.grant(emitter.link.sizes.count(2), sum(emitter.link.sizes) + 3)

    emitter.link.on_pump = pump
    for number in range(12):
        emitter.emit("word", number)
    emitter.grant(0, 12)
    emitter.outbox.flush()
    assert emitter.link.values == [["word", number] for number in range(12)]
    assert emitter.counters.waiting_seconds > 0
    assert emitter.outbox.held_up_by is None


def test_an_error_out_of_an_emit_that_waits_ends_the_wait_in_all_books() -> None:
    """Another stream's tuple turns out too large when its turn comes; the component may catch that."""
    edges = [edge("all"), edge("all", stream="late")]
    emitter = Emitter(*edges, par=2, credit_initial=1, batch_tuples=2, frame_bytes=1000)
    emitter.emit("word", 0)
    emitter.emit("x" * 2000, 1, stream="late")

    def pump() -> None:
        emitter.now += 1.0
        emitter.grant(1, 2, task=3)

    emitter.link.on_pump = pump
    for number in (2, 3, 4):
        emitter.emit("word", number)
    with pytest.raises(TupleTooLarge):
        emitter.emit("word", 5)
    assert emitter.outbox.held_up_by is None
    assert emitter.counters.waiting_seconds == 1.0


def test_emit_goes_on_as_soon_as_its_own_batch_has_left() -> None:
    emitter = Emitter(credit_initial=1, batch_tuples=2)
    pumped: list[float] = []

    def pump() -> None:
        pumped.append(emitter.now)
        emitter.now += 0.5
        emitter.grant(0, 5)  # no more than what waits, so that nothing is left of it

    emitter.link.on_pump = pump
    for number in range(5):
        emitter.emit("word", number)
    assert emitter.link.sizes == [1, 4]
    assert len(pumped) == 1


@given(
    streams=st.lists(st.sampled_from(["default", "late"]), max_size=60),
    credit=st.integers(1, 20),
    batch=st.integers(1, 5),
    flushes=st.sets(st.integers(0, 60)),
    grants=st.sets(st.integers(0, 60)),
)
@example(streams=["default"] * 3, credit=20, batch=5, flushes=set(), grants={2})
def test_a_tuple_on_a_stream_of_its_own_does_not_overtake_what_was_emitted_before(
    streams: list[str], credit: int, batch: int, flushes: set[int], grants: set[int]
) -> None:
    edges = [edge("shuffle"), edge("all", stream="late"), edge("global", stream="control")]
    emitter = Emitter(*edges, credit_initial=credit, batch_tuples=batch)

    def pump() -> None:
        sent = sum(emitter.link.sizes)
        emitter.grant(sent, sent + credit)

    emitter.link.on_pump = pump
    for number, stream in enumerate(streams):
        emitter.emit(stream, number, stream=stream)
        if number in flushes:
            emitter.now += emitter.settings.linger
            emitter.outbox.flush_due()
        if number in grants:
            pump()
    emitter.emit("end", len(streams), stream="control")
    while emitter.outbox.waiting:
        pump()
        emitter.outbox.flush()
    *values, last = emitter.link.values
    assert last == ["end", len(streams)]
    for stream in ("default", "late"):
        numbers = [number for name, number in values if name == stream]
        assert numbers == [number for number, name in enumerate(streams) if name == stream]


def test_one_full_destination_does_not_hold_up_another() -> None:
    emitter = Emitter(edge("all"), par=2, credit_initial=4)
    for number in range(6):
        emitter.emit("word", number)
    emitter.grant(4, 100, task=3)
    emitter.outbox.flush()
    counts = {
        task: sum(f.prefix.tuples for f in emitter.link.frames if f.prefix.destination == task)
        for task in (2, 3)
    }
    assert counts == {2: 4, 3: 6}


def test_emit_that_waits_ends_when_the_process_is_told_to() -> None:
    emitter = Emitter(credit_initial=1, batch_tuples=2)

    def stop() -> None:
        emitter.link.stopping = True

    emitter.link.on_pump = stop
    for number in range(4):
        emitter.emit("word", number)
    with pytest.raises(Stopping):
        emitter.emit("word", 4)


def test_who_gets_no_credit_for_long_asks_once_per_probe_interval() -> None:
    emitter = Emitter(credit_initial=1, credit_probe=1.0)
    emitter.emit("word", 0)
    emitter.emit("word", 1)
    for _ in range(25):
        emitter.now += 0.1
        emitter.outbox.flush_due()
    probes = [frame.prefix for frame in emitter.link.frames if frame.prefix.kind == PROBE]
    assert probes == [Prefix(PROBE, SINK, SOURCE, 0, 0, 1, MY_INCARNATION, 0, 1)] * 2


def test_a_receiver_that_is_started_again_gets_a_fresh_start() -> None:
    emitter = Emitter(credit_initial=2)
    for number in range(4):
        emitter.emit("word", number)
    emitter.grant(0, 2)
    emitter.outbox.flush()
    assert emitter.outbox.on_grant(SINK, RECEIVER + 1, HELLO)
    emitter.outbox.flush()
    assert [(frame.prefix.kind, frame.prefix.position) for frame in emitter.link.frames[2:]] == [(PROBE, 2)]
    assert emitter.counters.maybe_lost == 2
    assert emitter.outbox.on_grant(SINK, RECEIVER + 1, Grant(MY_INCARNATION, 2, 100))
    emitter.outbox.flush()
    assert emitter.link.values == [["word", number] for number in range(4)]


def test_a_grant_of_a_task_that_is_not_fed_or_was_replaced_is_refused() -> None:
    outbox = Emitter().outbox
    assert not outbox.on_grant(77, RECEIVER, HELLO)
    assert outbox.on_grant(SINK, RECEIVER + 1, HELLO)
    assert not outbox.on_grant(SINK, RECEIVER, Grant(MY_INCARNATION, 0, 10))


def test_a_grant_for_a_predecessor_changes_nothing_and_is_no_alarm() -> None:
    emitter = Emitter(credit_initial=1)
    assert emitter.outbox.on_grant(SINK, RECEIVER, Grant(MY_INCARNATION - 1, 10**9, 10**9))
    for number in range(5):
        emitter.emit("word", number)
    emitter.outbox.flush()
    assert emitter.link.sizes == [1]


def test_a_batch_that_would_not_fit_into_a_frame_is_sent_in_parts() -> None:
    emitter = Emitter(frame_bytes=1000)
    emitter.emit("a", 0)
    for number in range(1, 10):
        emitter.emit("x" * 300, number)
    emitter.outbox.flush()
    assert max(emitter.link.sizes) <= 3
    assert [row[1] for row in emitter.link.values] == list(range(10))
    positions = [frame.prefix.position for frame in emitter.link.frames]
    assert positions == [sum(emitter.link.sizes[:number]) for number in range(len(positions))]


def test_a_tuple_larger_than_a_frame_names_its_stream_and_component() -> None:
    emitter = Emitter(frame_bytes=1000)
    with pytest.raises(TupleTooLarge) as caught:
        emitter.emit("x" * 2000, 1)
    assert str(caught.value) == (
        "a tuple of 2006 bytes on stream 'default' of 'words' does not fit into a frame of 1000 bytes"
        " (try: emit smaller tuples, or pass --set transport.frame_bytes=64MB)"
    )


def test_what_was_emitted_is_what_it_was_then() -> None:
    emitter = Emitter()
    counts: dict[str, int] = {}
    for number in range(3):
        counts["seen"] = number
        emitter.emit("word", counts)
    emitter.outbox.flush()
    assert emitter.link.values == [["word", {"seen": number}] for number in range(3)]


def test_a_value_that_cannot_be_pickled_is_refused_by_the_emit_that_brings_it() -> None:
    emitter = Emitter()
    emitter.emit("word", "first")
    emitter.emit("word", "second")
    with pytest.raises(TopologyError, match="a value of type lock cannot be sent: cannot pickle"):
        emitter.emit("word", threading.Lock())
    emitter.outbox.flush()
    assert [value for _, value in emitter.link.values] == ["first", "second"]


def test_a_tuple_that_is_too_large_takes_no_other_with_it() -> None:
    """It is raised out of whichever call would have sent it; a component may well catch that and go on."""
    emitter = Emitter(frame_bytes=1000)
    for value in ("first", "0", "1", "x" * 2000, "2", "3"):
        emitter.emit("word", value)
    with pytest.raises(TupleTooLarge):
        emitter.outbox.flush()
    emitter.emit("word", "4")
    emitter.outbox.flush()
    assert [value for _, value in emitter.link.values] == ["first", "0", "1", "2", "3", "4"]
    assert not emitter.outbox.waiting


def test_emit_from_another_thread_is_refused() -> None:
    emitter = Emitter()
    errors: list[BaseException] = []

    def elsewhere() -> None:
        try:
            emitter.emit("word", 1)
        except TopologyError as error:
            errors.append(error)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert [str(error)[:63] for error in errors] == [
        "emit of 'words' was called from another thread or process; hand"
    ]
    assert emitter.link.frames == []


def test_emit_in_a_forked_process_is_refused() -> None:
    emitter = Emitter()
    emitter.collector.disown()
    with pytest.raises(TopologyError, match="from another thread or process"):
        emitter.emit("word", 1)
    assert emitter.link.frames == []


@pytest.mark.parametrize(
    ("values", "stream", "direct_task", "message"),
    [
        (["a"], "default", None, "'words' emitted 1 values on stream 'default', which has 2 fields"),
        (["a", 1], "defualt", None, "stream 'defualt', which it does not declare; did you mean 'default'?"),
        (["a", 1], "default", 2, "stream 'default' of 'words' is not direct: emit without direct_task"),
        (["a", 1], "exact", None, "stream 'exact' of 'words' is direct: give emit a direct_task"),
        (["a", 1], "exact", 1, "directly to task 1, which does not read it directly (known: [2])"),
    ],
)
def test_emit_says_what_is_wrong(
    values: list[Any], stream: str, direct_task: int | None, message: str
) -> None:
    emitter = Emitter(edge("shuffle"), edge("direct", stream="exact"))
    with pytest.raises(TopologyError, match=re.escape(message)):
        emitter.collector.emit(values, stream, direct_task, False)


def test_emit_tells_the_tasks_when_asked_and_its_hook_always() -> None:
    emitter = Emitter(edge("all"), edge("direct", stream="exact"), par=3)
    heard: list[tuple[Any, str, list[int]]] = []
    assert emitter.collector.emit(["a", 1], "default", None, True) == [2, 3, 4]
    emitter.collector.tell_of_emits(lambda values, stream, tasks: heard.append((values, stream, tasks)))
    assert emitter.collector.emit(["b", 2], "exact", 3, False) is None
    assert heard == [(("b", 2), "exact", [3])]
    assert emitter.counters.emitted == {"default": 1, "exact": 1}
