"""emit_many(): the same rows on the same channels as by emit(), for every grouping and with any credit."""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tasks.emitter import Emitter, Uneven
from support.tasks.plans import edge

from heronpy import BasicBolt, Bolt, Grouping, Spout, TopologyBuilder
from heronpy.instances.acking.ack_codec import Acks
from heronpy.instances.acking.anchored import Anchored, Edges, pairs
from heronpy.instances.acking.edges import random_edges, xor_of
from heronpy.instances.acking.outgoing import OutgoingAcks
from heronpy.instances.flow_settings import FlowSettings
from heronpy.instances.output import collector
from heronpy.instances.output.groupings.custom import Chooser
from heronpy.kernel.errors import TopologyError, TupleTooLarge
from heronpy.kernel.flow.frame import ANCHORED, DATA
from heronpy.kernel.flow.keys import key_group, key_groups
from heronpy.kernel.flow.sender import Sender
from heronpy.kernel.plans import Input
from heronpy.loading import describe_user_error
from heronpy.testing import TopologyTest
from heronpy.tuple import Tuple

GROUPINGS = ("shuffle", "none", "local_or_shuffle", "fields", "all", "global", "custom")

rows_of = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c", "d", "\ud800", 7, 1.5, None, b"x", ("k", 1)]),
        st.one_of(st.integers(), st.lists(st.integers(), max_size=2)),
    ),
    max_size=60,
)


@pytest.fixture(autouse=True, scope="module")
def few_in_hand() -> Iterator[None]:
    """Batches of the tests are routed in several parts, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collector, "MOST_IN_HAND", 7)
        yield


class Meagre(Emitter):
    """Gets so much credit whenever it waits, and no more."""

    def __init__(self, kind: Any, par: int, credit: int, *, may_wait: bool, batch: int) -> None:
        random.seed(par)  # shuffles begin with the same task
        fields = ("word",) if kind == "fields" else ()
        super().__init__(
            edge(kind, *fields), par=par, may_wait=may_wait, credit_initial=credit, batch_tuples=batch
        )
        self._granted = self._step = credit
        self.link.on_pump = self.more

    def _custom(self, _: Input, tasks: Sequence[int]) -> Chooser:
        return Uneven(list(tasks))

    def more(self) -> None:
        self._granted += self._step
        for task in self.plan.tasks_of("count"):
            self.grant(0, self._granted, task=task.id)

    def arrived(self) -> dict[int, list[list[Any]]]:
        """Task → all that it is sent, in order."""
        while self.outbox.waiting:
            self.more()
            self.outbox.flush()
        assert not self.outbox.overfull
        found: dict[int, list[list[Any]]] = {}
        for frame in self.link.frames:
            if frame.prefix.kind in (DATA, ANCHORED):
                before = found.setdefault(frame.prefix.destination, [])
                assert frame.prefix.position == len(before), "in order, and without a gap"
                before += frame.rows
        return found


@given(
    kind=st.sampled_from(GROUPINGS),
    batches=st.lists(rows_of, min_size=1, max_size=4),
    par=st.integers(1, 4),
    credit=st.integers(1, 30),
    batch=st.integers(1, 12),
    may_wait=st.booleans(),
)
def test_a_batch_is_what_its_rows_are(
    kind: str, batches: list[list[Any]], par: int, credit: int, batch: int, may_wait: bool
) -> None:
    one_by_one = Meagre(kind, par, credit, may_wait=may_wait, batch=batch)
    together = Meagre(kind, par, credit, may_wait=may_wait, batch=batch)
    for rows in batches:
        for row in rows:
            one_by_one.emit(*row)
        together.collector.emit_many(iter(rows), "default")
    assert together.arrived() == one_by_one.arrived()
    assert together.counters.emitted == one_by_one.counters.emitted == {"default": sum(map(len, batches))}


@given(keys=st.lists(st.one_of(st.text(), st.integers(), st.none(), st.just("\ud800"))))
def test_the_groups_of_many_keys_are_those_of_each(keys: list[Any]) -> None:
    assert key_groups(keys, 256) == [key_group(key, 256) for key in keys]


class Planting:
    """Trees of which each has a root, and is over when the edges of all its tuples make that root again."""

    def __init__(self) -> None:
        self.planted = 0

    def edges_of(self, copies: int) -> Sequence[Edges]:
        self.planted += 1
        edges = random_edges(copies - 1) if copies else []
        return [(self.planted, each) for each in [*edges, self.planted ^ xor_of(edges)][:copies]]


@given(
    kind=st.sampled_from(GROUPINGS),
    batches=st.lists(rows_of, min_size=1, max_size=4),
    par=st.integers(1, 4),
    credit=st.integers(1, 30),
    batch=st.integers(1, 12),
    may_wait=st.booleans(),
)
def test_all_rows_of_a_batch_owe_its_tree_however_it_is_cut(
    kind: str, batches: list[list[Any]], par: int, credit: int, batch: int, may_wait: bool
) -> None:
    emitter, trees = Meagre(kind, par, credit, may_wait=may_wait, batch=batch), Planting()
    for rows in batches:
        emitter.collector.emit_many(iter(rows), "default", trees.edges_of)
        emitter.collector.emit(("between", 1), "default", None, False, lambda copies: [None] * copies)
    emitter.arrived()
    owed: dict[int, int] = {}
    for tree in (tree for frame in emitter.link.frames for tree in frame.trees):
        for root, value in tree.items():
            owed[root] = owed.get(root, 0) ^ value
    assert owed == {root: root for root in owed}
    routed = {number for number, rows in enumerate(batches, 1) if rows}
    assert owed.keys() == routed or kind == "custom"  # which may choose no task


def test_a_batch_has_one_edge_for_each_task_that_gets_a_part_of_it() -> None:
    emitter = Emitter(edge("shuffle"), par=3, credit_initial=1000)

    def edges_of(count: int) -> Sequence[Edges]:
        return [(7, 1), (7, 2), (7, 4)][:count]

    emitter.collector.emit_many([["a", number] for number in range(300)], "default", edges_of)
    emitter.outbox.flush()
    frames = [frame for frame in emitter.link.frames if frame.trees]
    by_task: dict[int, int] = {}
    for frame in frames:
        for tree in frame.trees:
            by_task[frame.prefix.destination] = by_task.get(frame.prefix.destination, 0) ^ tree[7]
    assert sorted(by_task.values()) == [1, 2, 4]


def test_a_list_in_a_batch_may_be_changed_after_it_was_emitted() -> None:
    emitter = Emitter(credit_initial=0)
    row: list[Any] = ["a", [1]]
    emitter.collector.emit_many([row, ["b", 2]], "default")
    row[1].append(2)
    emitter.grant(0, 10)
    emitter.outbox.flush()
    assert emitter.link.values == [["a", [1]], ["b", 2]]


@pytest.mark.parametrize(
    ("rows", "stream", "message"),
    [
        (
            [["a", 1], ["b"]],
            "default",
            "emitted 1 values on stream 'default', which has 2 fields ['word', 'n']",
        ),
        ([["a", 1], ["b"]], "default", "; it was row 1 of a batch of 2"),
        ([["a", 1], [[], 2]], "default", "field 'word' of stream 'default' of 'words' to 'count': a list"),
        ([["a", 1], ["b", threading.Lock()]], "default", "a value of type lock cannot be sent"),
        ([["a", 1]], "defualt", "which it does not declare; did you mean 'default'?"),
        ([["a", 1]], "exact", "stream 'exact' of 'words' is direct: give emit a direct_task"),
    ],
)
def test_a_batch_with_a_wrong_row_is_refused_as_a_whole(rows: list[Any], stream: str, message: str) -> None:
    emitter = Emitter(edge("fields", "word"), edge("direct", stream="exact"))
    with pytest.raises(TopologyError, match=re.escape(message)):
        emitter.collector.emit_many(rows, stream)
    assert emitter.link.frames == []
    assert not emitter.outbox.waiting
    assert emitter.counters.emitted == {"default": 0, "exact": 0}


def test_a_row_that_is_too_large_takes_no_other_with_it() -> None:
    emitter = Emitter(edge("all"), par=2, frame_bytes=1000)
    rows = [["a", 1], ["b", 2], ["x" * 2000, 3], ["c", 4]]
    emitter.collector.emit_many(rows, "default")
    for _ in range(2):  # it has two copies
        with pytest.raises(TupleTooLarge, match="does not fit into a frame"):
            emitter.outbox.flush()
    emitter.outbox.flush()
    assert sorted(emitter.link.values) == [["a", 1]] * 2 + [["b", 2]] * 2 + [["c", 4]] * 2


def test_a_row_that_is_too_large_leaves_the_tree_to_the_other_rows_of_its_batch() -> None:
    emitter = Emitter(par=1, frame_bytes=1000, credit_initial=100)
    settled: list[Edges] = []
    emitter.outbox.settle = settled.append
    rows = [["a", 1], ["b", 2], ["x" * 2000, 3], ["c", 4], ["d", 5]]
    emitter.collector.emit_many(rows, "default", lambda _: [(7, 99)])
    with pytest.raises(TupleTooLarge):
        emitter.outbox.flush()
    emitter.outbox.flush()
    arrived = [tree[7] for frame in emitter.link.frames for tree in frame.trees]
    assert (emitter.link.values, len(arrived)) == ([["a", 1], ["b", 2], ["c", 4], ["d", 5]], 4)
    ((_, lost),) = (one for edges in settled for one in pairs(edges))
    assert xor_of([*arrived, lost]) == 99


def test_the_first_row_of_a_lane_shows_how_many_fit_into_a_batch() -> None:
    """Else a thousand large rows would be encoded at once."""
    emitter = Emitter(batch_tuples=1000, batch_bytes=1000, credit_initial=5000)
    emitter.collector.emit_many([["x" * 300, number] for number in range(10)], "default")
    assert emitter.link.sizes == [1, 3, 3, 3]


def test_a_hook_is_called_for_every_row_of_a_batch() -> None:
    emitter = Emitter(edge("all"), par=2)
    heard: list[tuple[Any, str, list[int]]] = []
    emitter.collector.tell_of_emits(lambda values, stream, tasks: heard.append((values, stream, tasks)))
    emitter.collector.emit_many([["a", 1], ["b", 2]], "default")
    assert heard == [(("a", 1), "default", [2, 3]), (("b", 2), "default", [2, 3])]


class Batches(Spout):
    """Batches of ten numbers, each with the number of the batch as its id."""

    outputs = ["number"]

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.sent = 0
        self.acked: list[int] = []
        self.failed: list[int] = []

    def next_tuple(self) -> None:
        if self.sent < 5:
            begin = 10 * self.sent
            self.emit_many(([number] for number in range(begin, begin + 10)), tup_id=self.sent)
            self.sent += 1

    def ack(self, tup_id: int) -> None:
        self.acked.append(tup_id)

    def fail(self, tup_id: int) -> None:
        self.failed.append(tup_id)


class Rows(Spout):
    outputs = ["number"]
    sent = 0

    def next_tuple(self) -> None:
        if self.sent < 50:
            self.emit([self.sent], tup_id=self.sent)
            self.sent += 1


class Doubled(BasicBolt):
    """Anchors what it emits for a batch to all tuples of the batch, and acks these."""

    outputs = ["number"]

    def process_batch(self, tuples: list[Tuple]) -> None:
        self.emit_many([[2 * tup.number] for tup in tuples])


class Keeping(Bolt):
    """Acks by row; fails 44 if told so, and acks nothing while told to wait."""

    fails, waits = False, False

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.seen: list[int] = []
        self.waiting: list[Tuple] = []

    def process(self, tup: Tuple) -> None:
        self.seen.append(tup.number)
        if self.waits:
            self.waiting.append(tup)
        elif self.fails and tup.number == 44:
            self.fail(tup)
        else:
            self.ack(tup)


def topology(spout: type[Spout], guarantee: str = "ATLEAST_ONCE", par: int = 3) -> TopologyBuilder:
    builder = TopologyBuilder("batches")
    source = builder.add_spout("source", spout, 1)
    doubled = builder.add_bolt("doubled", Doubled, 2, inputs={source: Grouping.SHUFFLE})
    builder.add_bolt("keep", Keeping, par, inputs={doubled: Grouping.fields("number")})
    builder.set_config({"topology.reliability.mode": guarantee, "topology.message.timeout.secs": 10})
    return builder


@pytest.mark.parametrize("seed", [None, 1, 2])
@pytest.mark.parametrize("guarantee", ["ATMOST_ONCE", "ATLEAST_ONCE"])
@pytest.mark.parametrize("spout", [Batches, Rows])
def test_batches_and_rows_understand_each_other(spout: type[Spout], guarantee: str, seed: int | None) -> None:
    with TopologyTest(topology(spout, guarantee), seed=seed) as run:
        run.run_spouts()
        seen = [number for index in range(3) for number in run.component("keep", index).seen]
        assert sorted(seen) == [2 * number for number in range(50)]
        assert sorted(run.emitted("source")) == [[number] for number in range(50)]
        assert sorted(run.emitted("doubled")) == [[2 * number] for number in range(50)]
        if spout is Batches:
            assert sorted(run.component("source").acked) == [0, 1, 2, 3, 4]
            assert run.component("source").failed == []


def test_a_batch_is_one_tree_that_is_over_with_its_last_row() -> None:
    with TopologyTest(topology(Batches, par=1)) as run:
        bolt = run.component("keep")
        bolt.waits = True
        run.run_spouts(calls=1)
        for tup in bolt.waiting[:-1]:
            bolt.ack(tup)
        run.advance("1s")
        assert run.component("source").acked == []
        bolt.ack(bolt.waiting[-1])
        run.advance("1s")
        assert run.component("source").acked == [0]


def test_a_row_that_fails_fails_its_batch_and_no_other() -> None:
    with TopologyTest(topology(Batches, par=1)) as run:
        run.component("keep").fails = True
        run.run_spouts(calls=5)
        assert run.component("source").failed == [2]
        assert run.component("source").acked == [0, 1, 3, 4]


class Told:
    """A link that keeps the acks that are sent."""

    stopping = False

    def __init__(self) -> None:
        self.acks: list[Acks] = []

    def send(self, prefix: bytes, payload: bytes) -> None:
        del prefix
        self.acks.append(Acks.decode(payload))

    def pump(self, timeout: float) -> None:
        raise AssertionError(timeout)


def test_a_bolt_acks_the_rows_of_a_batch_with_one_number() -> None:
    link, roots = Told(), (7 << 48 | 5, 7 << 48 | 6)
    acks = OutgoingAcks(Sender(2, 1, 1), link, FlowSettings())
    edges = random_edges(30)
    for number, one in enumerate(edges):
        acks.ack(Anchored(roots[number >= 20], one))
    acks.flush()
    assert link.acks == [Acks([], list(roots), [xor_of(edges[:20]), xor_of(edges[20:])], [])]
    acks.flush()
    assert len(link.acks) == 1


class Empty(Batches):
    def next_tuple(self) -> None:
        self.emit_many([], tup_id="nothing")


def test_an_empty_batch_is_acked_at_once() -> None:
    with TopologyTest(topology(Empty)) as run:
        run.run_spouts(calls=1)
        assert run.component("source").acked == ["nothing"]


class Misunderstood(Spout):
    outputs = ["number"]

    def next_tuple(self) -> None:
        self.emit_many([1, 2])  # type: ignore[list-item]


def test_a_batch_of_values_says_what_emit_many_takes() -> None:
    with TopologyTest(topology(Misunderstood)) as run, pytest.raises(TypeError) as caught:
        run.run_spouts(calls=1)
    assert "emit_many() takes a list of rows, as in self.emit_many([[1], [2]])" in (
        describe_user_error(caught.value).summary
    )
