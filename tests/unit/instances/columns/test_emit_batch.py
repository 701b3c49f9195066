"""emit_batch(): the rows of a batch on the same channels as by emit(), for every grouping and credit."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tasks.emitter import Emitter
from support.tasks.plans import edge

from heronpy import Schema
from heronpy.instances.acking.anchored import divided, joined, pairs, tracked
from heronpy.instances.acking.edges import random_edges, xor_of
from heronpy.instances.output.columns.column_codec import decode_columns, encode_columns, is_columns
from heronpy.instances.output.groupings.custom import Chooser
from heronpy.kernel.errors import ProtocolError, TopologyError, TupleTooLarge
from heronpy.kernel.flow.frame import DATA, SIGNAL
from heronpy.kernel.flow.keys import key_group
from heronpy.kernel.flow.signals import EndOfInput
from heronpy.kernel.plans import Input

SCHEMA = Schema(word=pa.string(), n=pa.int64())
#: groupings that choose the same task for a row, whatever it comes with
BY_ROW = ("fields", "all", "global", "custom")
ANY = (*BY_ROW, "shuffle", "none", "local_or_shuffle")

rows_of = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c", "", "ß", None]), st.one_of(st.none(), st.integers(-9, 9))),
    max_size=40,
)


def batch_of(rows: Sequence[Sequence[Any]]) -> Any:
    words, numbers = [row[0] for row in rows], [row[1] for row in rows]
    return pa.record_batch([pa.array(words, pa.string()), pa.array(numbers, pa.int64())], schema=SCHEMA.arrow)


class ByWord:
    """No task, one or two."""

    def __init__(self, tasks: Sequence[int]) -> None:
        self._tasks = tasks

    def choose_tasks(self, values: Sequence[Any]) -> list[int]:
        first, last = self._tasks[0], self._tasks[-1]
        return [[], [first], [first, last]][key_group(values[0], 3)]


class Columns(Emitter):
    """Gets so much credit whenever it waits, and no more."""

    def __init__(self, *edges: Input, par: int = 1, credit: int = 1000, **settings: Any) -> None:
        random.seed(par)
        super().__init__(*edges, par=par, credit_initial=credit, schema=SCHEMA, **settings)
        self._granted = self._step = credit
        self.link.on_pump = self.more

    def _custom(self, _: Input, tasks: Sequence[int]) -> Chooser:
        return ByWord(list(tasks))

    def more(self) -> None:
        self._granted += self._step
        for task in self.plan.tasks_of("count"):
            self.grant(0, self._granted, task=task.id)

    def arrived(self) -> dict[int, list[list[Any]]]:
        while self.outbox.waiting:
            self.more()
            self.outbox.flush()
        assert not self.outbox.overfull
        found: dict[int, list[list[Any]]] = {}
        for frame in self.link.frames:
            if frame.prefix.kind == DATA:
                before = found.setdefault(frame.prefix.destination, [])
                assert frame.prefix.position == len(before), "in order, and without a gap"
                assert frame.prefix.tuples == len(frame.rows)
                before += frame.rows
        return found


def emitter(kind: Any, par: int, credit: int, *, may_wait: bool = True, batch: int = 12) -> Columns:
    fields = ("word",) if kind == "fields" else ()
    return Columns(edge(kind, *fields), par=par, credit=credit, may_wait=may_wait, batch_tuples=batch)


steps = st.lists(st.tuples(st.booleans(), rows_of), min_size=1, max_size=5)
sizes = {"par": st.integers(1, 4), "credit": st.integers(1, 30), "batch": st.integers(1, 12)}


@given(kind=st.sampled_from(BY_ROW), steps=steps, may_wait=st.booleans(), **sizes)
def test_columns_go_where_their_rows_go_and_stay_in_order_with_rows_around_them(
    kind: str, steps: list[Any], par: int, credit: int, batch: int, may_wait: bool
) -> None:
    one_by_one = emitter(kind, par, credit, may_wait=may_wait, batch=batch)
    mixed = emitter(kind, par, credit, may_wait=may_wait, batch=batch)
    for columns, rows in steps:
        for row in rows:
            one_by_one.emit(*row)
            if not columns:
                mixed.emit(*row)
        if columns:
            mixed.collector.emit_batch(batch_of(rows), "default")
    assert mixed.arrived() == one_by_one.arrived()
    assert mixed.counters.emitted == one_by_one.counters.emitted


@given(kind=st.sampled_from(ANY), batches=st.lists(rows_of, max_size=4), may_wait=st.booleans(), **sizes)
def test_every_row_arrives_once_however_little_credit_there_is(
    kind: str, batches: list[Any], par: int, credit: int, batch: int, may_wait: bool
) -> None:
    one = emitter(kind, par, credit, may_wait=may_wait, batch=batch)
    for rows in batches:
        one.collector.emit_batch(batch_of(rows), "default")
    arrived = Counter(tuple(row) for rows in one.arrived().values() for row in rows)
    sent = Counter(row for rows in batches for row in rows)
    copies = {"all": dict.fromkeys(sent, par), "custom": {row: key_group(row[0], 3) for row in sent}}
    expected = {row: count * copies.get(kind, {}).get(row, 1) for row, count in sent.items()}
    assert arrived == +Counter(expected)


def test_a_shuffle_deals_whole_batches_in_turn() -> None:
    one = emitter("shuffle", 2, 1000)
    for number in range(4):
        one.collector.emit_batch(batch_of([["a", number], ["b", number]]), "default")
    assert sorted(one.arrived().values()) == [
        [["a", 0], ["b", 0], ["a", 2], ["b", 2]],
        [["a", 1], ["b", 1], ["a", 3], ["b", 3]],
    ]


def test_a_batch_goes_directly_to_the_task_that_is_named() -> None:
    one = Columns(edge("direct", stream="exact"), par=2)
    one.collector.emit_batch(batch_of([["a", 1], ["b", 2]]), "exact", direct_task=3)
    assert one.arrived() == {3: [["a", 1], ["b", 2]]}
    with pytest.raises(TopologyError, match="is direct: give emit a direct_task"):
        one.collector.emit_batch(batch_of([["a", 1]]), "exact")


def test_a_large_batch_is_cut_to_fit_and_a_large_row_takes_no_other_with_it() -> None:
    one = Columns(frame_bytes=4000)
    words = [["x" * 500, number] for number in range(20)]
    one.collector.emit_batch(batch_of(words), "default")
    assert one.arrived() == {2: words}
    assert all(size <= 8 for size in one.link.sizes)
    one.collector.emit_batch(batch_of([["a", 1], ["y" * 5000, 2], ["b", 3]]), "default")
    with pytest.raises(TupleTooLarge, match="does not fit into a frame"):
        one.outbox.flush()
    assert one.arrived() == {2: [*words, ["a", 1], ["b", 3]]}


def test_small_batches_travel_together_while_the_receiver_is_busy() -> None:
    one = Columns(credit=100)
    for number in range(50):
        one.collector.emit_batch(batch_of([["a", number]]), "default")
    assert one.arrived() == {2: [["a", number] for number in range(50)]}
    assert one.link.sizes == [1, 49]


def test_a_batch_is_not_cut_into_crumbs_for_want_of_credit() -> None:
    one = Columns(credit=100)
    one.collector.emit_batch(batch_of([["a", 0]] * 90), "default")
    one.link.on_pump = lambda: None
    one.collector.emit_batch(batch_of([["b", 1]] * 40), "default")
    assert one.link.sizes == [90]  # there is room for ten, which is little
    one.grant(90, 190)
    one.outbox.flush()
    assert one.link.sizes == [90, 40]


def test_the_end_of_input_overtakes_no_batch_and_no_rows_before_it() -> None:
    one = Columns(credit=0)
    one.emit("a", 1)
    one.outbox.following.follow(EndOfInput())
    one.collector.emit_batch(batch_of([["b", 2]]), "default")
    one.emit("c", 3)
    one.grant(0, 1)
    one.outbox.flush()
    sent = [frame for frame in one.link.frames if frame.prefix.kind in (DATA, SIGNAL)]
    assert [(frame.rows, frame.signal) for frame in sent] == [([["a", 1]], None), ([], EndOfInput())]
    one.grant(0, 10)
    one.outbox.flush()
    assert one.link.values == [["a", 1], ["b", 2], ["c", 3]]


def test_an_empty_batch_is_not_sent() -> None:
    one = Columns()
    one.collector.emit_batch(batch_of([]), "default")
    assert one.link.frames == []
    assert one.counters.emitted == {"default": 0}


def test_a_hook_is_called_for_every_row() -> None:
    one = Columns(edge("all"), par=2)
    heard: list[Any] = []
    one.collector.tell_of_emits(lambda *call: heard.append(call))
    one.collector.emit_batch(batch_of([["a", 1], ["b", 2]]), "default")
    assert heard == [(["a", 1], "default", [2, 3]), (["b", 2], "default", [2, 3])]


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ([["a", 1]], "emitted on stream 'default' a list, where a pyarrow.RecordBatch belongs"),
        (pa.table({"word": ["a"], "n": [1]}), "for batch in table.to_batches()"),
        (pa.record_batch({"word": ["a"]}), "a batch of ['word'], and its Schema has ['word', 'n']"),
        (
            pa.record_batch([pa.array(["a"]), pa.array([1], pa.int8())], names=["word", "n"]),
            "a batch with pyarrow.Field<n: int8>, and its Schema has pyarrow.Field<n: int64>",
        ),
    ],
)
def test_what_does_not_fit_the_stream_is_refused(batch: Any, message: str) -> None:
    one = Columns()
    with pytest.raises(TopologyError, match=re.escape(message)):
        one.collector.emit_batch(batch, "default")
    assert one.link.frames == []


def test_a_stream_without_a_schema_takes_no_columns() -> None:
    plain = Emitter()
    with pytest.raises(TopologyError, match="stream 'default', which declares no Schema"):
        plain.collector.emit_batch(batch_of([["a", 1]]), "default")


@given(edges=st.sampled_from([None, 7, (7, 9), {7: 9, 8: 3}]), parts=st.integers(1, 9))
def test_the_edges_of_the_parts_make_the_edge_of_the_whole(edges: Any, parts: int) -> None:
    divisions = [dict(pairs(each)) for each in divided(edges, parts)]
    assert len(divisions) == parts
    assert {root: xor_of(each[root] for each in divisions) for root, _ in pairs(edges)} == dict(pairs(edges))


def test_who_acks_a_batch_acks_all_its_rows() -> None:
    one, two = random_edges(2)
    whole = joined([tracked((7, one)), None, tracked((7, two)), tracked({8: one, 9: two})])
    assert whole is not None
    assert whole.settle() == {7: one ^ two, 8: one, 9: two}
    assert joined([None]) is None


@pytest.mark.parametrize("anchor", [None, (7, 9), {7: 9, 8: 3}])
def test_a_payload_is_read_as_it_was_written(anchor: Any) -> None:
    batch = batch_of([["a", 1], [None, None], ["ß" * 1000, -5]])
    payload = encode_columns(batch.slice(1), anchor)
    assert is_columns(payload)
    assert decode_columns(payload, SCHEMA.arrow) == (batch.slice(1), anchor)


@pytest.mark.parametrize("cut", [1, 7, 8, 20, 200])
def test_what_is_no_payload_is_refused(cut: int) -> None:
    payload = encode_columns(batch_of([["a", 1], ["b", 2]] * 20), (7, 9))
    with pytest.raises(ProtocolError):
        decode_columns(payload[:cut], SCHEMA.arrow)
    with pytest.raises(ProtocolError):
        decode_columns(bytes([payload[0], 77]) + payload[2:], SCHEMA.arrow)
