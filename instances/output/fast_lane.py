"""emit() of one plain tuple, as most are: values that cannot change, no named task, no hook to call."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from threading import get_ident
from typing import Any, Protocol

from heronpy.instances.acking.anchored import Edges
from heronpy.instances.acking.edges import random_bits
from heronpy.instances.acking.roots import Roots
from heronpy.instances.output.channel import Lane
from heronpy.instances.output.collector import Collector


class FastEmit(Protocol):
    """Emits one tuple, or says that it is none for the fast lane."""

    def __call__(self, values: Sequence[Any], stream: str, root: int = 0, tup_id: Any = None) -> int:
        """The XOR of the edges to the copies of the tuple, if it is anchored to `root`; else 0.

        -1 without any effect when the tuple is not plain or not valid: the caller then uses the collector's
        emit(), which does the same for all tuples. Where the trees of this task are tracked, it becomes the
        root of one, with this id.
        """


class Trees(Protocol):
    """The trees of a spout."""

    @property
    def roots(self) -> Roots: ...

    def plant(self, tup_id: Any, copies: int) -> Sequence[Edges]: ...

    def stamp(self) -> None: ...


def fast_lane(collector: Collector, trees: Trees | None = None) -> FastEmit:  # noqa: C901 - hot
    """A function of its own with everything in local variables: every tuple would pay for every look-up."""
    settled, emitted, thread, opened, grown, choices = collector.plain_ways()
    if trees is not None:
        names, add_xor, add_id = trees.roots.names, trees.roots.xors.append, trees.roots.ids.append
        opened, grown = _after(trees.stamp, opened), _after(trees.stamp, grown)

    def emit(values: Sequence[Any], stream: str, root: int = 0, tup_id: Any = None) -> int:  # noqa: C901 - hot
        if stream not in choices or get_ident() != thread[0]:
            return -1
        row = tuple(values)
        width, choose = choices[stream]
        if len(row) != width:
            return -1
        for value in row:
            if type(value) not in settled:
                return -1
        lanes = choose(row)
        emitted[stream] += 1
        if trees is not None:
            if len(lanes) != 1:
                collector.leave([(lane, (row,)) for lane in lanes], functools.partial(trees.plant, tup_id))
                return 0
            planted = next(names)
            add_xor(planted)
            add_id(tup_id)
            lanes[0].edges.append(planted)
        xor = 0
        for lane in lanes:
            if root:
                edge = random_bits(64)
                xor ^= edge
                lane.edges.append((root, edge))
            rows = lane.rows
            rows.append(row)
            size = len(rows)
            if size == 1:
                opened(lane)
            elif size >= lane.due:
                grown(lane)
        return xor

    return emit


def _after(stamp: Callable[[], None], call: Callable[[Lane], None]) -> Callable[[Lane], None]:
    def stamped(lane: Lane) -> None:
        stamp()
        call(lane)

    return stamped
