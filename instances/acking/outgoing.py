"""Acks and fails on their way to the spouts, in batches."""

from __future__ import annotations

import collections
import math
from collections.abc import Callable

from heronpy.instances.acking.ack_codec import Acks
from heronpy.instances.acking.anchored import Anchored, Edges, HasId, TrackedId, pairs
from heronpy.instances.acking.roots import by_task, is_root, task_of
from heronpy.instances.counters import Counters
from heronpy.instances.flow_settings import FlowSettings
from heronpy.instances.link import Link
from heronpy.kernel.flow.frame import ACK
from heronpy.kernel.flow.sender import Sender


class OutgoingAcks:
    """What this task has acked and failed since the last flush. Acks need no credit."""

    def __init__(self, sender: Sender, link: Link, settings: FlowSettings) -> None:
        self._sender = sender
        self._link = link
        self._settings = settings
        self._flushed_at = 0.0
        #: acked leaves that are only copies
        self._leaves: list[int] = []
        #: leaves that have failed, and how many had been acked by then
        self._failed_leaves: dict[int, int] = {}
        self._roots: list[int] = []
        self._values: list[int] = []
        self._failed: list[int] = []
        #: whether a tuple of several trees is among them: tuples made from the same ones have the same roots
        self._several = False

    def ack(self, tup_id: object) -> None:
        if type(tup_id) is int:
            self._leaves.append(tup_id)
        elif isinstance(tup_id, TrackedId):
            owed = tup_id.settle()
            self._several |= len(owed) > 1
            self._roots += owed
            self._values += owed.values()

    def fail(self, tup_id: object) -> None:
        if type(tup_id) is int:
            self._failed_leaves.setdefault(tup_id, len(self._leaves))
        elif isinstance(tup_id, TrackedId):
            self._failed += tup_id.settle()

    def settle(self, edges: Edges) -> None:
        """A copy that was to go somewhere is not needed any more: to its trees it is as if it was acked."""
        for root, edge in pairs(edges):
            self._roots.append(root)
            self._values.append(edge)

    def short_ack(self, counters: Counters) -> Callable[[HasId], None]:
        """ack() of one tuple as a function of its own, since every tuple pays for every look-up."""
        add_leaf, add_root, add_value = self._leaves.append, self._roots.append, self._values.append

        def ack(tup: HasId) -> None:
            counters.acked += 1
            tup_id = tup.id
            if type(tup_id) is int:
                add_leaf(tup_id)
            elif type(tup_id) is Anchored:
                root = tup_id.root
                if root:
                    add_root(root)
                    add_value(tup_id.value)
                    tup_id.root = 0
            else:
                self.ack(tup_id)

        return ack

    def flush_due(self, now: float) -> None:
        """Send once there are as many as make a batch, or when it is a while since the last time.

        Not after every chunk of work: on a busy machine chunks are short, and every frame wakes two others.
        """
        enough = len(self._leaves) + len(self._roots) >= self._settings.batch_tuples
        if enough or now - self._flushed_at >= self._settings.linger:
            self._flushed_at = now
            self.flush()

    def flush(self) -> None:
        """Send all of them."""
        if not (self._leaves or self._failed_leaves or self._roots or self._failed):
            return
        for spout, acks in self._by_spout().items():
            self._send(spout, acks)
        # Cleared, not replaced: short_ack() holds on to them.
        for sent in (self._leaves, self._failed_leaves, self._roots, self._values, self._failed):
            sent.clear()

    def _by_spout(self) -> dict[int, Acks]:
        leaves, roots, values = self._leaves, self._roots, self._values
        if self._failed_leaves:
            leaves = self._judged()
        if self._several or (len(roots) > 1 and roots[0] == roots[1]):
            roots, values = _one_for_each(roots, values)
            self._several = False
        if roots == values:  # none, or those of a bolt that only acks
            leaves, roots, values = leaves + roots, [], []
        found: dict[int, Acks] = collections.defaultdict(lambda: Acks([], [], [], []))
        for spout, some in by_task(sorted(set(leaves))):
            found[spout] = Acks(some, [], [], [])
        if roots and task_of(min(roots)) == task_of(max(roots)):
            acks = found[task_of(roots[0])]
            acks.roots.extend(roots)
            acks.values.extend(values)
        else:
            for root, value in zip(roots, values, strict=True):
                acks = found[task_of(root)]
                acks.roots.append(root)
                acks.values.append(value)
        for root in self._failed:
            found[task_of(root)].failed.append(root)
        return found

    def _judged(self) -> list[int]:
        """The acked leaves without those that had failed before, which are added to what has failed."""
        acked_at: dict[int, int] = {}
        for place, root in enumerate(self._leaves):
            acked_at.setdefault(root, place)
        for root, place in self._failed_leaves.items():
            if acked_at.get(root, math.inf) >= place and is_root(root):
                acked_at.pop(root, None)
                self._failed.append(root)
        return list(acked_at)

    def _send(self, spout: int, acks: Acks) -> None:
        for piece in acks.pieces():
            self._link.send(*self._sender.frame(ACK, spout, piece.encode()))


def _one_for_each(roots: list[int], values: list[int]) -> tuple[list[int], list[int]]:
    """The same acks with one value for each root: the rows of a batch have the same."""
    owed: dict[int, int] = {}
    for root, value in zip(roots, values, strict=True):
        owed[root] = owed.get(root, 0) ^ value
    return list(owed), list(owed.values())
