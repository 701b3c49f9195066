"""XOR trees over random shapes, orders, repeats and losses: a root is over when all of its tree is."""

from __future__ import annotations

import random
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heronpy.instances.acking.anchored import Anchored, Edges
from heronpy.instances.acking.roots import Roots, task_of
from heronpy.instances.acking.wire import Acks, decode_anchored, encode_anchored
from heronpy.kernel.errors import ProtocolError

TASK, INCARNATION = 7, 3 << 20 | 5


class Tuple:
    """A tuple on its way: all that acking knows of it is its id."""

    def __init__(self, edges: dict[int, int]) -> None:
        self.id = Anchored(number for pair in edges.items() for number in pair)
        self.roots = set(edges)


class Forest:
    """Some roots, and bolts that turn tuples into tuples at random."""

    def __init__(self, seed: int, roots: int) -> None:
        self.random = random.Random(seed)
        self.roots = Roots(TASK, INCARNATION, timeout=None)
        self.alive: list[Tuple] = []
        self.over: list[int] = []
        self.acks: deque[tuple[int, int]] = deque()
        #: root → tuples of its tree that nobody has acked
        self.owing: dict[int, int] = {}
        self.names: dict[int, int] = {}
        for number in range(roots):
            self.plant(number)

    def plant(self, number: int) -> None:
        root = self.roots.open(number, now=0.0)
        self.names[root] = number
        xor = 0
        for _ in range(self.random.randint(1, 3)):
            edge = self.random.getrandbits(64)
            xor ^= edge
            self.alive.append(Tuple({root: edge}))
            self.owing[root] = self.owing.get(root, 0) + 1
        assert self.roots.close(xor, now=0.0) is None

    def process_one(self) -> None:
        """A bolt takes one or two tuples, makes up to three of them, and acks what it took."""
        taken = [self.alive.pop(self.random.randrange(len(self.alive)))]
        if self.alive and self.random.random() < 0.3:
            taken.append(self.alive.pop(self.random.randrange(len(self.alive))))
        for _ in range(self.random.choice([0, 0, 1, 1, 2, 3])):
            edges: dict[int, int] = {}
            for tup in taken:
                tup.id.join(self.random.getrandbits(64), edges)
            made = Tuple(edges)
            self.alive.append(made)
            for root in made.roots:
                self.owing[root] += 1
        for tup in taken:
            for root in tup.roots:
                self.owing[root] -= 1
            self.acks.extend(zip(tup.id[::2], tup.id[1::2], strict=True))

    def deliver(self, count: int) -> None:
        batch = [self.acks.popleft() for _ in range(min(count, len(self.acks)))]
        self.random.shuffle(batch)
        outcomes = self.roots.ack([root for root, _ in batch], [value for _, value in batch], now=1.0)
        self.over += [tup_id for tup_id, _ in outcomes]


@given(seed=st.integers(0, 2**32), roots=st.integers(1, 20))
def test_a_root_is_over_when_its_whole_tree_is_acked_and_not_before(seed: int, roots: int) -> None:
    forest = Forest(seed, roots)
    roots_by_name = {name: root for root, name in forest.names.items()}
    for _ in range(200):
        if forest.alive:
            forest.process_one()
        if forest.random.random() < 0.5:
            forest.deliver(forest.random.randint(1, 20))
        assert all(forest.owing[roots_by_name[name]] == 0 for name in forest.over), "over before its tree was"
    while forest.acks:
        forest.deliver(20)
    if not forest.alive:
        assert sorted(forest.over) == list(range(roots)), "every tree was acked, so every root is over, once"
        assert forest.roots.pending == 0


@given(seed=st.integers(0, 2**32))
def test_a_lost_ack_leaves_its_roots_to_the_timeout(seed: int) -> None:
    forest = Forest(seed, roots=10)
    forest.roots.timeout = 30.0
    for _ in range(5):
        if forest.alive:
            forest.process_one()
    lost = {root for root, _ in list(forest.acks)[::2]} | {r for tup in forest.alive for r in tup.roots}
    forest.acks = deque(list(forest.acks)[1::2])
    forest.deliver(len(forest.acks))
    late = [tup_id for tup_id, _ in forest.roots.expire(now=30.0)]
    assert sorted(forest.over + late) == list(range(10)), "every root is acked or failed, once"
    assert {forest.names[root] for root in lost} <= set(late)
    assert forest.roots.expire(now=1e9) == []


def test_timeouts_are_found_in_the_order_of_emission_and_on_time() -> None:
    roots = Roots(TASK, INCARNATION, timeout=10.0)
    for number in range(5):
        roots.open(number, now=float(number))
        assert roots.close(number + 1, now=float(number)) is None
    assert roots.expire(now=9.99) == []
    assert roots.expire(now=12.0) == [(0, 12.0), (1, 11.0), (2, 10.0)]
    assert roots.pending == 2


def test_a_tuple_that_nobody_reads_is_done_at_once() -> None:
    roots = Roots(TASK, INCARNATION, timeout=10.0)
    roots.open("lonely", now=1.0)
    assert roots.close(0, now=1.5) == ("lonely", 0.5)


def test_acks_that_overtake_the_end_of_emit_are_not_lost_and_end_nothing_early() -> None:
    roots = Roots(TASK, INCARNATION, timeout=10.0)
    root = roots.open("x", now=0.0)
    assert roots.ack([root], [5], now=0.0) == []
    assert roots.ack([root], [5], now=0.0) == [], "zero for a moment, but still being emitted"
    assert roots.ack([root], [9], now=0.0) == []
    assert roots.close(9, now=0.0) == ("x", 0.0)


def test_acks_for_an_earlier_incarnation_and_for_others_are_dropped() -> None:
    before = Roots(TASK, INCARNATION, timeout=10.0)
    old = before.open("old", now=0.0)
    after = Roots(TASK, INCARNATION + 1, timeout=10.0)
    after.open("new", now=0.0)
    assert after.close(1, now=0.0) is None
    other = Roots(TASK + 1, INCARNATION + 1, timeout=10.0).open("other", now=0.0)
    assert after.ack([old, other], [1, 1], now=0.0) == []
    assert after.fail([old, other], now=0.0) == []
    assert task_of(old) == TASK
    assert task_of(other) == TASK + 1


def test_a_failed_root_is_failed_once_and_never_acked() -> None:
    roots = Roots(TASK, INCARNATION, timeout=10.0)
    root = roots.open("x", now=0.0)
    roots.close(3, now=0.0)
    assert roots.fail([root, root], now=1.0) == [("x", 1.0)]
    assert roots.ack([root], [3], now=2.0) == []
    assert roots.expire(now=100.0) == []


def test_the_ring_moves_on_over_a_hundred_thousand_roots() -> None:
    roots = Roots(TASK, INCARNATION, timeout=None)
    window: deque[int] = deque()
    for number in range(100_000):
        window.append(roots.open(number, now=0.0))
        assert roots.close(number + 1, now=0.0) is None
        if len(window) > 100:
            done = roots.ack([window.popleft()], [number - 99], now=0.0)
            assert [tup_id for tup_id, _ in done] == [number - 100]
    assert roots.pending == 100
    assert len(roots._xors) < 20_000


number = st.integers(1, 2**64 - 1)
edges = st.none() | st.tuples(number, number) | st.dictionaries(number, number, min_size=1, max_size=4)


@given(each=st.lists(edges, min_size=1, max_size=20), batch=st.binary(max_size=50))
def test_anchors_travel_in_front_of_the_batch(each: list[Edges], batch: bytes) -> None:
    ids, rest = decode_anchored(encode_anchored(each, batch), len(each))
    assert rest == batch
    assert [dict(zip(one[::2], one[1::2], strict=True)) if one else None for one in ids] == [
        dict([edge]) if isinstance(edge, tuple) else edge for edge in each
    ]


numbers = st.lists(st.integers(0, 2**64 - 1), max_size=20)


@given(roots=numbers, failed=numbers)
def test_acks_travel_as_packed_integers(roots: list[int], failed: list[int]) -> None:
    acks = Acks(roots, [root ^ 1 for root in roots], failed)
    assert Acks.decode(acks.encode()) == acks
    with pytest.raises(ProtocolError):
        Acks.decode(acks.encode() + b"x")
