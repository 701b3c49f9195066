"""XOR trees over random shapes, orders, repeats and losses: a root is over when all of its tree is."""

from __future__ import annotations

import functools
import itertools
import operator
import random
import struct
from collections import deque
from collections.abc import Iterable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from heronpy.instances.acking import anchored
from heronpy.instances.acking.ack_codec import Acks, decode_anchored, decode_joined, encode_anchored
from heronpy.instances.acking.anchored import (
    MOST_SHARED,
    Anchor,
    Anchored,
    Edges,
    TrackedId,
    cut,
    joining,
    pairs,
    shared,
    tracked,
)
from heronpy.instances.acking.roots import Over, Roots, task_of
from heronpy.kernel.errors import ProtocolError
from heronpy.kernel.plans.packing import LAST_TRACKED_TASK

TASK, INCARNATION = 7, 3 << 20 | 5


class Tuple:
    """A tuple on its way: all that acking knows of it is its id."""

    def __init__(self, edges: Edges) -> None:
        ids, _ = decode_anchored(encode_anchored([edges], b""), 1)
        (self.id,) = ids
        self.roots = {root for root, _ in pairs(edges)}


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
        self.roots.stamp(now=0.0)

    def plant(self, number: int) -> None:
        edges = [self.random.getrandbits(64) for _ in range(self.random.randint(1, 3))]
        if len(edges) == 1:
            root = self.roots.add(number)
            self.alive.append(Tuple(root))
        else:
            root = self.roots.add(number, functools.reduce(operator.xor, edges))
            self.alive += [Tuple({root: edge}) for edge in edges]
        self.names[root] = number
        self.owing[root] = len(edges)

    def process_one(self) -> None:
        """A bolt takes one or two tuples, makes up to three of them, and acks what it took."""
        taken = [self.alive.pop(self.random.randrange(len(self.alive)))]
        if self.alive and self.random.random() < 0.3:
            taken.append(self.alive.pop(self.random.randrange(len(self.alive))))
        for edges in joining(taken)(self.random.choice([0, 0, 1, 1, 2, 3])):
            made = Tuple(edges)
            self.alive.append(made)
            for root in made.roots:
                self.owing[root] += 1
        for tup in taken:
            assert tup.id is not None
            for root in tup.roots:
                self.owing[root] -= 1
            self.acks.extend(tup.id.settle().items())
            assert tup.id.settle() == {}, "a second ack says nothing"

    def deliver(self, count: int) -> None:
        batch = [self.acks.popleft() for _ in range(min(count, len(self.acks)))]
        self.random.shuffle(batch)
        for whole in (True, False):
            some = [(root, value) for root, value in batch if (root == value) is whole]
            roots, values = [root for root, _ in some], [value for _, value in some]
            over = self.roots.ack_whole(roots, 1.0) if whole else self.roots.ack(roots, values, 1.0)
            self.over += over.ids


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


@pytest.mark.parametrize(
    "successor",
    [3 << 20 | 6, 4 << 20 | 5, 4 << 20 | 9, 5 << 20 | 5],
    ids=["child", "executor", "both", "twice"],
)
def test_acks_for_a_predecessor_mean_nothing_whoever_was_restarted(successor: int) -> None:
    """An executor that is started again counts the starts of its children from the beginning."""
    predecessor, roots = (Roots(TASK, number, timeout=None) for number in (INCARNATION, successor))
    earlier = [predecessor.add(number) for number in range(3)]
    for number in range(3):
        roots.add(number)
    assert roots.ack_whole(range(earlier[0], earlier[-1] + 1), 1.0).ids == []
    assert roots.ack_whole(earlier, 1.0).ids == []
    assert roots.fail(earlier, 1.0).ids == []
    assert roots.pending == 3


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
    late = forest.roots.expire(now=30.0).ids
    assert sorted(forest.over + late) == list(range(10)), "every root is acked or failed, once"
    assert {forest.names[root] for root in lost} <= set(late)
    assert forest.roots.expire(now=1e9).ids == []


def test_timeouts_are_found_in_the_order_of_emission_and_on_time() -> None:
    roots = Roots(TASK, INCARNATION, timeout=10.0)
    for number in range(5):
        roots.add(number)
        roots.stamp(now=float(number))
    assert roots.expire(now=9.99) == Over([], [], 9.99)
    assert roots.expire(now=12.0) == Over([0, 1, 2], [0.0, 1.0, 2.0], 12.0)
    assert roots.pending == 2


def test_acks_that_overtake_the_other_copies_end_nothing_early() -> None:
    roots = Roots(TASK, INCARNATION, timeout=10.0)
    root = roots.add("x", 5 ^ 9)
    assert roots.ack([root], [5], now=1.0).ids == []
    assert roots.ack([root, root], [7, 9], now=1.0).ids == [], "7 was made of 9, and is not acked yet"
    assert roots.ack([root], [7], now=2.0) == Over(["x"], [1.0], 2.0)


def test_acks_for_an_earlier_incarnation_and_for_others_are_dropped() -> None:
    before = Roots(TASK, INCARNATION, timeout=10.0)
    old = before.add("old")
    after = Roots(TASK, INCARNATION + 1, timeout=10.0)
    after.add("new")
    other = Roots(TASK + 1, INCARNATION + 1, timeout=10.0).add("other")
    for strangers in ([old, other], [old], [other]):
        assert after.ack(strangers, strangers, now=0.0).ids == []
        assert after.ack_whole(strangers, now=0.0).ids == []
        assert after.fail(strangers, now=0.0).ids == []
    assert after.pending == 1
    assert task_of(old) == TASK
    assert task_of(other) == TASK + 1


def test_a_failed_root_is_failed_once_and_never_acked() -> None:
    roots = Roots(TASK, INCARNATION, timeout=10.0)
    root = roots.add("x")
    assert roots.fail([root, root], now=1.0).ids == ["x"]
    assert roots.ack_whole([root], now=2.0).ids == []
    assert roots.ack([root], [root], now=2.0).ids == []
    assert roots.expire(now=100.0).ids == []
    assert roots.pending == 0


def test_the_ring_moves_on_over_a_hundred_thousand_roots() -> None:
    roots = Roots(TASK, INCARNATION, timeout=None)
    window: deque[int] = deque()
    for number in range(100_000):
        window.append(roots.add(number))
        if len(window) > 100:
            assert roots.ack_whole([window.popleft()], now=0.0).ids == [number - 100]
    assert roots.pending == 100
    assert len(roots.xors) < 20_000


def test_after_the_last_name_comes_the_first_again() -> None:
    """Two thirds of a day, at a million a second."""
    roots = Roots(TASK, INCARNATION, timeout=None, count=2**36 - 3)
    names = [roots.add(number) for number in range(6)]
    assert names[2] - names[0] == 2
    assert names[3] == names[2] - (2**36 - 1)
    assert {task_of(name) for name in names} == {TASK}
    assert roots.ack_whole(names[1:4], now=0.0).ids == [1, 2, 3]
    assert roots.ack_whole(range(names[2], names[2] + 2), now=0.0).ids == [], "the second is no root"
    assert roots.ack_whole(range(names[4], names[5] + 3), now=0.0).ids == [4, 5], (
        "the last are not emitted yet"
    )
    assert roots.ack([names[5], names[0]], [names[5], names[0]], now=0.0).ids == [0]
    assert roots.pending == 0


def test_a_range_of_roots_of_which_the_first_were_left_behind_ends_the_others() -> None:
    roots = Roots(TASK, INCARNATION, timeout=None)
    names = [roots.add(number) for number in range(10_000)]
    assert roots.ack_whole(range(names[0], names[8_000]), now=0.0).ids == list(range(8_000))
    assert len(roots.xors) == 2_000
    assert roots.ack_whole(range(names[7_990], names[8_010]), now=0.0).ids == list(range(8_000, 8_010))
    assert roots.pending == 1_990


#: neighbours from one of twenty roots on, any of them in any order, or neighbours with something amiss
runs = st.tuples(st.integers(0, 19), st.integers(1, 20)).map(
    lambda run: list(range(run[0], min(sum(run), 20)))
)
steps = st.tuples(
    st.sampled_from(["whole", "whole", "fail", "part"]),
    runs | st.lists(st.integers(0, 19), max_size=6),
)


@given(st.lists(steps, max_size=12))
def test_acks_of_many_neighbours_at_once_are_the_same_as_one_by_one(
    told: list[tuple[str, list[int]]],
) -> None:
    """Some are over already, failed, or changed by an ack of something else in their tree."""
    at_once, one_by_one = Roots(TASK, INCARNATION, 10.0), Roots(TASK, INCARNATION, 10.0)
    names = [at_once.add(number) for number in range(20)]
    assert names == [one_by_one.add(number) for number in range(20)]
    at_once.stamp(now=0.0)
    one_by_one.stamp(now=0.0)
    for now, (what, numbers) in enumerate(told):
        some = [names[number] for number in numbers]
        if what == "whole":
            over = [one_by_one.ack([root], [root], now) for root in some]
            follows = range(some[0], some[0] + len(some)) if some else range(0)
            at_one_go = follows if list(follows) == some else some
            assert at_once.ack_whole(at_one_go, now).ids == [tup_id for one in over for tup_id in one.ids]
        elif what == "fail":
            assert at_once.fail(some, now) == one_by_one.fail(some, now)
        else:
            assert at_once.ack(some, [99] * len(some), now) == one_by_one.ack(some, [99] * len(some), now)
        assert at_once.pending == one_by_one.pending
        assert [xor if xor >= 0 else names[number] for number, xor in enumerate(at_once.xors)] == [
            xor if xor >= 0 else names[number] for number, xor in enumerate(one_by_one.xors)
        ]
    assert at_once.expire(1e9) == one_by_one.expire(1e9)


def test_a_tracked_id_can_be_a_key_and_is_only_equal_to_itself() -> None:
    one, same = Anchored(1, 2), Anchored(1, 2)
    kept = {one: "one", same: "same"}
    one.settle()
    assert (kept[one], kept[same]) == ("one", "same")


@given(
    task=st.integers(1, LAST_TRACKED_TASK),
    incarnation=st.integers(0, 2**64 - 1),
    count=st.integers(0, 2**36 - 1),
)
def test_a_root_leads_back_to_its_task_and_fits_into_64_bits(task: int, incarnation: int, count: int) -> None:
    roots = Roots(task, incarnation, timeout=None, count=count)
    for root in (roots.add("first"), roots.add("second")):
        assert 0 < root < 2**64
        assert task_of(root) == task


@given(task=st.integers(LAST_TRACKED_TASK + 1) | st.integers(max_value=-1))
def test_a_task_that_has_no_room_in_its_roots_has_none(task: int) -> None:
    with pytest.raises(
        ValueError, match=f"task {task} cannot name its roots: ids of tracked spouts end at 65535"
    ):
        Roots(task, INCARNATION, timeout=None)


number = st.integers(1, 2**64 - 1)
edges = (
    st.none() | number | st.tuples(number, number) | st.dictionaries(number, number, min_size=1, max_size=4)
)


@given(each=st.lists(edges, min_size=1, max_size=20), batch=st.binary(max_size=50))
def test_anchors_travel_in_front_of_the_batch(each: list[Edges], batch: bytes) -> None:
    ids, rest = decode_anchored(encode_anchored(each, batch), len(each))
    assert rest == batch
    assert [one.settle() if one else None for one in ids] == [
        {edge: edge} if isinstance(edge, int) else dict([edge]) if isinstance(edge, tuple) else edge
        for edge in each
    ]


@given(each=st.lists(edges, min_size=1, max_size=20) | st.lists(st.tuples(st.just(7), number), min_size=1))
def test_one_id_of_all_tuples_owes_what_theirs_owe(each: list[Edges]) -> None:
    payload = encode_anchored(each, b"batch")
    ids, _ = decode_anchored(payload, len(each))
    whole, batch = decode_joined(payload, len(each))
    owed: dict[int, int] = {}
    for one in ids:
        for root, value in one.settle().items() if one else ():
            owed[root] = owed.get(root, 0) ^ value
    assert batch == b"batch"
    assert (whole.settle() if whole else {}) == owed


#: what rows that follow one another are anchored to together, and how many they are
parts = st.lists(st.tuples(edges, st.integers(1, 9)), min_size=1, max_size=6)


def anchors_of(each: list[tuple[Edges, int]]) -> list[Anchor]:
    return [anchor for edges, rows in each for anchor in shared(edges, rows)]


def all_owed(ids: Iterable[TrackedId | None]) -> dict[int, int]:
    owed: dict[int, int] = {}
    for one in ids:
        for root, value in one.settle().items() if one else ():
            owed[root] = owed.get(root, 0) ^ value
    return owed


@given(each=parts)
def test_rows_that_share_an_edge_owe_it_together(each: list[tuple[Edges, int]]) -> None:
    anchors = anchors_of(each)
    payload = encode_anchored(anchors, b"batch")
    ids, batch = decode_anchored(payload, len(anchors))
    whole, _ = decode_joined(payload, len(anchors))
    one_by_one = list(ids)
    assert (batch, len(one_by_one)) == (b"batch", len(anchors))
    expected = all_owed(tracked(edges) for edges, _ in each)
    assert all_owed(one_by_one) == all_owed([whole]) == expected
    begin = 0
    for part_edges, rows in each:  # and each part of them what it shares
        ids, _ = decode_anchored(payload, len(anchors))
        mine = list(ids)[begin : begin + rows]
        assert all_owed(mine) == all_owed([tracked(part_edges)])
        begin += rows


def test_a_batch_has_one_edge_in_front_of_it_however_many_rows_it_has() -> None:
    short, long = (len(encode_anchored(shared((7, 9), rows), b"")) for rows in (2, MOST_SHARED))
    assert short == long == 5 + 4 + 8 + 16


@given(roots=st.integers(1, 2000), rows=st.integers(1, 5000))
def test_few_rows_share_the_edges_of_many_trees(roots: int, rows: int) -> None:
    """A receiver that takes them one by one makes an edge for each row and tree, and so must have few."""
    edges: Edges = {root: root * root for root in range(1, roots + 1)} if roots > 1 else (7, 9)
    anchors = shared(edges, rows)
    parts = anchored.runs(anchors)
    assert len(anchors) == sum(count for _, count in parts) == rows
    assert all(count == 1 or count * roots <= MOST_SHARED for _, count in parts)
    assert all_owed(tracked(part) for part, _ in parts) == all_owed([tracked(edges)])


@given(each=parts, places=st.lists(st.integers(0, 60), max_size=8))
def test_rows_that_share_an_edge_part_where_they_are_cut(
    each: list[tuple[Edges, int]], places: list[int]
) -> None:
    anchors = anchors_of(each)
    count, before = len(anchors), all_owed(tracked(edges) for edges, _ in each)
    borders = sorted({0, count, *(place for place in places if place < count)})
    for place in places:
        cut(anchors, place)
    assert len(anchors) == count
    frames = [anchors[one:other] for one, other in itertools.pairwise(borders)]
    ids = [decode_joined(encode_anchored(frame, b""), len(frame))[0] for frame in frames]
    assert all_owed(ids) == before


#: roots that follow one another, up to the last number of 64 bits
ranges = st.tuples(st.integers(1, 2**64 - 40), st.integers(1, 40)).map(
    lambda run: list(range(run[0], sum(run)))
)


def listed(roots: list[int]) -> bytes:
    """Anchors one by one, and a batch of nothing."""
    return struct.pack(f"<BI{len(roots)}Q", 3, 8 * len(roots), *roots)


def owed(ids: Iterable[TrackedId | None]) -> list[dict[int, int] | None]:
    return [one.settle() if one else None for one in ids]


def in_lists(payload: bytes) -> Acks:
    """Acks as they were before they travelled, maybe as a range."""
    acks = Acks.decode(payload)
    return acks._replace(whole=list(acks.whole))


@given(roots=ranges)
def test_a_range_of_roots_says_the_same_as_their_list(roots: list[int]) -> None:
    count = len(roots)
    ranged = encode_anchored(roots, b"")
    assert len(ranged) == 13, "a head and one root"
    assert owed(decode_anchored(ranged, count)[0]) == owed(decode_anchored(listed(roots), count)[0])
    for payload in (ranged, listed(roots)):
        whole, _ = decode_joined(payload, count)
        assert owed([whole]) == [dict(zip(roots, roots, strict=True))]
    acked = Acks(roots, [5], [6], [7])
    one_by_one = struct.pack(f"<BIII{count + 3}Q", 1, count, 1, 1, *roots, 5, 6, 7)
    assert len(acked.encode()) == 13 + 8 + 24
    assert in_lists(acked.encode()) == in_lists(one_by_one) == acked


@given(roots=ranges, swaps=st.lists(st.tuples(st.integers(0, 39), st.integers(0, 39)), min_size=1))
def test_roots_out_of_order_are_listed_although_first_and_last_may_look_like_a_range(
    roots: list[int], swaps: list[tuple[int, int]]
) -> None:
    mixed = list(roots)
    for one, other in swaps:
        one, other = one % len(roots), other % len(roots)
        mixed[one], mixed[other] = mixed[other], mixed[one]
    assume(mixed != roots)
    assert encode_anchored(mixed, b"") == listed(mixed)
    assert Acks.decode(Acks(mixed, [], [], []).encode()).whole == mixed


def test_very_many_roots_in_a_row_are_acked_in_frames_of_bounded_size() -> None:
    roots = list(range(1, 40_001))
    pieces = Acks(roots, [], [], []).pieces()
    assert [len(piece.encode()) for piece in pieces] == [21] * 3
    assert [root for piece in pieces for root in Acks.decode(piece.encode()).whole] == roots
    assert encode_anchored(roots, b"") == listed(roots), "a range of so many is refused"


numbers = st.lists(st.integers(0, 2**64 - 1), max_size=20)


@given(whole=numbers, roots=numbers, failed=numbers)
def test_acks_travel_as_packed_integers(whole: list[int], roots: list[int], failed: list[int]) -> None:
    acks = Acks(whole, roots, [root ^ 1 for root in roots], failed)
    assert in_lists(acks.encode()) == acks
    with pytest.raises(ProtocolError):
        Acks.decode(acks.encode() + b"x")


def test_a_tuple_may_be_made_of_very_many() -> None:
    """As a window makes it, of more tuples than 16 bits can count."""
    edges: Edges = {root: root + 1 for root in range(1, 70_001)}
    found, batch = decode_anchored(encode_anchored([None, edges], b"batch"), 2)
    none, made = found
    assert batch == b"batch"
    assert none is None
    assert made is not None
    assert made.settle() == edges
