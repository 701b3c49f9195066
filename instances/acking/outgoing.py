"""Acks and fails on their way to the spouts, in batches."""

from __future__ import annotations

from heronpy.instances.acking.anchored import Anchored
from heronpy.instances.acking.roots import task_of
from heronpy.instances.acking.wire import Acks
from heronpy.instances.link import Link
from heronpy.kernel.frame import ACK, Prefix, seal


class OutgoingAcks:
    """What this task has acked and failed since the last flush. Acks need no credit."""

    def __init__(self, task: int, incarnation: int, epoch: int, link: Link) -> None:
        self._task = task
        self._incarnation = incarnation
        self._epoch = epoch
        self._link = link
        self._by_spout: dict[int, Acks] = {}

    def ack(self, tup_id: object) -> None:
        if isinstance(tup_id, Anchored):
            for at in range(0, len(tup_id), 2):
                acks = self._towards(tup_id[at])
                acks.roots.append(tup_id[at])
                acks.values.append(tup_id[at + 1])
            tup_id.clear()  # a second ack, or a fail after it, says nothing any more

    def fail(self, tup_id: object) -> None:
        if isinstance(tup_id, Anchored):
            for root in tup_id[::2]:
                self._towards(root).failed.append(root)
            tup_id.clear()

    def flush(self) -> None:
        for spout, acks in self._by_spout.items():
            prefix = Prefix(ACK, spout, self._task, 0, 0, self._epoch, self._incarnation, 0, 0)
            self._link.send(*seal(prefix, acks.encode()))
        self._by_spout.clear()

    def _towards(self, root: int) -> Acks:
        spout = task_of(root)
        acks = self._by_spout.get(spout)
        if acks is None:
            acks = self._by_spout[spout] = Acks([], [], [])
        return acks
