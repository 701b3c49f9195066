"""The fast lane: a tuple that takes it leaves as by the collector's emit(), and so do those that do not."""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tasks.emitter import Emitter, Uneven
from support.tasks.plans import edge

from heronpy import Schema
from heronpy.instances.acking.anchored import Anchored, joining
from heronpy.instances.acking.roots import Roots
from heronpy.instances.acking.tracker import Tracker
from heronpy.instances.output.fast_lane import fast_lane
from heronpy.instances.output.groupings.custom import Chooser
from heronpy.kernel.errors import TopologyError
from heronpy.kernel.flow.frame import ANCHORED, DATA
from heronpy.kernel.plans import Input

#: nothing is tracked; a spout's tuples are roots; a bolt's are anchored to what it has received
Tracking = Literal["nothing", "roots", "anchors"]
TRACKING: tuple[Tracking, ...] = ("nothing", "roots", "anchors")

GROUPINGS = ("shuffle", "none", "local_or_shuffle", "fields", "all", "global", "custom", "direct")
STREAMS = ("default", "more", "unknown")
#: of the tuple that a bolt has received
ROOT = 1 << 48 | 5

keys = st.sampled_from(["a", "b", "c", "\ud800", 7, 2**70, -1.5, True, None, b"x", ("k", 1)])
values = st.one_of(st.integers(), st.floats(allow_nan=False), st.lists(st.integers(), max_size=2))
TYPES = Schema(word=pa.string(), n=pa.float64())
#: stream, the values, and the id that a spout gives the tuple; two values are what a stream has
emits = st.tuples(
    st.sampled_from((*STREAMS[:2] * 4, *STREAMS)),
    st.one_of(*[st.tuples(keys, values)] * 8, st.lists(keys, max_size=3).map(tuple)),
    st.one_of(*[st.integers(0, 99)] * 4, st.none()),
)


def _never(values: Sequence[Any], stream: str, anchor: Anchored | None = None, tup_id: Any = None) -> bool:
    """No tuple is plain."""
    return False


class HasId(NamedTuple):
    """What a bolt has received."""

    id: Anchored


class Side(Emitter):
    """Emits by the fast lane where it can, or never; gets a little more credit whenever it waits."""

    def __init__(
        self,
        kinds: Sequence[Any],
        par: int,
        credit: int,
        tracking: Tracking,
        schema: Schema | None = None,
        *,
        fast: bool,
    ) -> None:
        random.seed(par)  # shuffles begin with the same task
        edges = [
            edge(kind, *(("word",) if kind == "fields" else ()), stream=stream)
            for kind, stream in zip(kinds, STREAMS, strict=False)
        ]
        super().__init__(*edges, par=par, credit_initial=credit, batch_tuples=4, schema=schema)
        self._granted = self._step = credit
        self.link.on_pump = self.more
        self.tracking = tracking
        self.tracker = Tracker(Roots(1, 1, None), lambda: self.now, 1000) if tracking == "roots" else None
        self.received = HasId(Anchored(ROOT, ROOT))
        self._fast = fast_lane(self.collector, self.tracker) if fast else _never
        #: tuples that took the fast lane
        self.taken = 0
        self.refused: list[str] = []

    def _custom(self, _: Input, tasks: Sequence[int]) -> Chooser:
        return Uneven(list(tasks))

    def more(self) -> None:
        self._granted += self._step
        for task in self.plan.tasks_of("count"):
            self.grant(0, self._granted, task=task.id)

    def take(self, row: tuple[Any, ...], stream: str, tup_id: int | None) -> None:
        """As a spout or a bolt does."""
        tracker, anchored = self.tracker, self.tracking == "anchors"
        try:
            plain = tracker is None or tup_id is not None
            if plain and self._fast(row, stream, self.received.id if anchored else None, tup_id):
                self.taken += 1
                return
            edges_of = functools.partial(tracker.plant, tup_id) if tracker is not None else None
            self.collector.emit(row, stream, None, False, joining([self.received]) if anchored else edges_of)
        except TopologyError as error:
            self.refused.append(f"{row}: {error}")

    def drain(self) -> None:
        while self.outbox.waiting:
            self.more()
            self.outbox.flush()

    def arrived(self) -> dict[tuple[int, int], list[tuple[str, list[tuple[int, bool]]]]]:
        """Task and stream → rows in order, each with its roots, and whether it is the root's only copy."""
        found: dict[tuple[int, int], list[tuple[str, list[tuple[int, bool]]]]] = {}
        for frame in self.link.frames:
            if frame.prefix.kind in (DATA, ANCHORED):
                trees = frame.trees or [{} for _ in frame.rows]
                found.setdefault((frame.prefix.destination, frame.prefix.stream), []).extend(
                    (repr(row), [(root, root == tree_edge) for root, tree_edge in tree.items()])
                    for row, tree in zip(frame.rows, trees, strict=True)
                )
        return found

    def owed(self) -> dict[int, int]:
        """Root → the XOR of the edges of all copies."""
        owed: dict[int, int] = {}
        for frame in self.link.frames:
            for tree in frame.trees:
                for root, tree_edge in tree.items():
                    owed[root] = owed.get(root, 0) ^ tree_edge
        return owed

    def counted(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self.counters).items() if not callable(value)}


@pytest.mark.parametrize("schema", [None, TYPES], ids=["no schema", "schema"])
@pytest.mark.parametrize("tracking", TRACKING)
@given(
    kinds=st.tuples(st.sampled_from(GROUPINGS), st.sampled_from(GROUPINGS)),
    par=st.integers(1, 3),
    credit=st.integers(1, 9),
    emitted=st.lists(emits, min_size=4, max_size=30),
)
def test_the_fast_lane_does_what_emit_does(
    kinds: tuple[str, str],
    par: int,
    credit: int,
    tracking: Tracking,
    schema: Schema | None,
    emitted: list[tuple[str, tuple[Any, ...], int | None]],
) -> None:
    """For tuples that are plain and others in turn, in the same lanes."""
    fast = Side(kinds, par, credit, tracking, schema, fast=True)
    slow = Side(kinds, par, credit, tracking, schema, fast=False)
    for side in (fast, slow):
        for stream, row, tup_id in emitted:
            side.take(row, stream, tup_id)
        side.drain()
    assert fast.refused == slow.refused
    assert fast.arrived() == slow.arrived()
    assert fast.counted() == slow.counted()
    for side in (fast, slow):
        if side.tracker is not None:
            pending = {root: xor for root, xor in _trees(side.tracker.roots).items() if xor}
            assert pending == side.owed(), "a tree is over when what has left is acked"
        elif tracking == "anchors":
            assert side.received.id.value == ROOT ^ side.owed().get(ROOT, 0)
    if fast.tracker is not None and slow.tracker is not None:
        assert fast.tracker.roots.ids == slow.tracker.roots.ids
        assert fast.tracker.pending == slow.tracker.pending
        told = [[over.ids for over in side.acked if over.ids] for side in (fast.tracker, slow.tracker)]
        assert told[0] == told[1]


@pytest.mark.parametrize("tracking", TRACKING)
def test_a_tuple_takes_the_fast_lane_if_it_is_plain(tracking: Tracking) -> None:
    side = Side(["all"], 2, 9, tracking, fast=True)
    for row in (("a", 1), ("b", None), ("c", [1]), (("k", 1), 2)):
        side.take(row, "default", 1)
    assert side.taken == 2, "a list may change before it leaves, and a tuple may hold one"


def test_a_row_that_fits_its_schema_takes_the_fast_lane_too() -> None:
    side = Side(["fields"], 2, 9, "nothing", TYPES, fast=True)
    for row in (("a", 1.5), (b"b", 2), ("c", None), ("d", "no number"), ("too", 1, "many")):
        side.take(row, "default", 1)
    assert side.taken == 3
    assert len(side.refused) == 2
    side.drain()
    assert sorted(map(repr, side.link.values)) == ["['a', 1.5]", "['b', 2.0]", "['c', None]"]


def _trees(roots: Roots) -> dict[int, int]:
    first = Roots(1, 1, None).add("the first has the same name")
    roots.stamp(0.0)
    return {first + number: xor if xor >= 0 else first + number for number, xor in enumerate(roots.xors)}
