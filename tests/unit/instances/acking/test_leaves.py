"""Tuples of which nothing can be made are acked by their roots alone: the spouts hear the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from heronpy.instances.acking.ack_codec import Acks, decode_anchored, decode_leaves, encode_anchored
from heronpy.instances.acking.anchored import Edges, TrackedId
from heronpy.instances.acking.outgoing import OutgoingAcks
from heronpy.instances.acking.roots import Roots, by_task, task_of
from heronpy.instances.counters import Counters
from heronpy.instances.flow_settings import FlowSettings
from heronpy.kernel.flow.frame import unseal
from heronpy.kernel.flow.sender import Sender

SPOUTS = (7, 8, 300)
EACH = 6


class Received(NamedTuple):
    id: object


class Spouts:
    """The link of a bolt: what it sends ends trees of the spouts, of which each tuple is a leaf."""

    stopping = False

    def __init__(self) -> None:
        self.roots = {task: Roots(task, 1, timeout=None) for task in SPOUTS}
        self.acked: list[object] = []
        self.failed: list[object] = []

    def plant(self, copies: int) -> list[Edges]:
        """One tuple of each tree, or both of two copies."""
        planted: list[Edges] = []
        for task, roots in self.roots.items():
            for number in range(EACH):
                if copies == 1:
                    planted.append(roots.add((task, number)))
                else:
                    root = roots.add((task, number), 5 ^ 9)
                    planted += [(root, 5), (root, 9)]
        return planted

    def send(self, prefix: bytes, payload: bytes) -> None:
        roots, acks = self.roots[unseal(prefix, payload).destination], Acks.decode(payload)
        self.acked += roots.ack_whole(acks.whole, 0.0).ids
        self.acked += roots.ack(acks.roots, acks.values, 0.0).ids
        self.failed += roots.fail(acks.failed, 0.0).ids

    def pump(self, timeout: float) -> None:
        raise AssertionError(timeout)


class Bolt:
    """Has received a tuple of each tree, as leaves or as tuples from which others could be made."""

    def __init__(self, copies: int, *, leaves: bool) -> None:
        self.spouts = Spouts()
        anchors = self.spouts.plant(copies)
        decode = decode_leaves if leaves else decode_anchored
        ids, batch = decode(encode_anchored(anchors, b"batch"), len(anchors))
        assert batch == b"batch"
        self.tuples = list(map(Received, ids))
        self.acks = OutgoingAcks(Sender(2, 1, 1), self.spouts, FlowSettings())
        self.short_ack = self.acks.short_ack(Counters())

    def do(self, what: str, number: int) -> None:
        tup = self.tuples[number % len(self.tuples)]
        if what == "short ack":
            self.short_ack(tup)
        elif what == "ack":
            self.acks.ack(tup.id)
        elif what == "fail":
            self.acks.fail(tup.id)
        else:
            self.acks.flush()


calls = st.tuples(
    st.sampled_from(["short ack", "short ack", "ack", "fail", "flush"]),
    st.integers(0, 2 * EACH * len(SPOUTS) - 1),
)


@given(done=st.lists(calls, max_size=80), copies=st.integers(1, 2))
def test_spouts_hear_the_same_of_leaves_as_of_other_tuples(done: list[tuple[str, int]], copies: int) -> None:
    """Whatever is acked or failed, how often and in which order: the first of the calls counts."""
    leaves, others = Bolt(copies, leaves=True), Bolt(copies, leaves=False)
    for bolt in (leaves, others):
        for what, number in done:
            bolt.do(what, number)
        bolt.acks.flush()
    assert sorted(map(str, leaves.spouts.acked)) == sorted(map(str, others.spouts.acked))
    assert sorted(map(str, leaves.spouts.failed)) == sorted(map(str, others.spouts.failed))
    pending = [roots.pending for roots in leaves.spouts.roots.values()]
    assert pending == [roots.pending for roots in others.spouts.roots.values()]


def test_a_tuple_that_user_code_has_made_is_nothing_to_any_spout() -> None:
    bolt = Bolt(1, leaves=True)
    for made in (-1, 0, 5, 2**48 - 1, 2**64, 2**80):
        bolt.acks.ack(made)
        bolt.acks.fail(made + 1 if made != 2**48 - 1 else 6)
    bolt.do("ack", 0)
    bolt.acks.flush()
    assert (len(bolt.spouts.acked), bolt.spouts.failed) == (1, [])


def test_an_only_copy_is_a_number_and_one_of_several_is_not() -> None:
    ids, _ = decode_leaves(encode_anchored([71, 72, 73], b""), 3)
    assert list(ids) == [71, 72, 73]
    ids, _ = decode_leaves(encode_anchored([71, (72, 5), None], b""), 3)
    (first, second, third) = ids
    assert isinstance(first, TrackedId)
    assert isinstance(second, TrackedId)
    assert (first.settle(), second.settle(), third) == ({71: 71}, {72: 5}, None)


near_roots = st.integers(0, 2**64 + 5) | st.integers(2**48, 2**48 + 9) | st.integers(2**49 - 5, 2**49 + 5)


@given(st.lists(near_roots, unique=True))
def test_roots_in_order_are_divided_by_their_spouts(numbers: list[int]) -> None:
    """Task 0 is none, and 64 bits are all there is."""
    divided: list[tuple[int, Sequence[int]]] = list(by_task(sorted(numbers)))
    roots = sorted(number for number in numbers if 2**48 <= number < 2**64)
    assert [root for _, some in divided for root in some] == roots
    assert all(task_of(root) == task for task, some in divided for root in some)
    tasks = [task for task, _ in divided]
    assert tasks == sorted(set(tasks))
