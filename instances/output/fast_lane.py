"""emit() of one plain tuple, as most are: values that cannot change, no named task, no hook to call."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from threading import get_ident
from typing import Any, Protocol

from heronpy.instances.acking.anchored import Anchored, Edges
from heronpy.instances.acking.edges import random_bits
from heronpy.instances.acking.roots import Roots
from heronpy.instances.output.channel import Lane
from heronpy.instances.output.codec import Row
from heronpy.instances.output.collector import Collector
from heronpy.instances.output.columns.row_fitting import UnfitError
from heronpy.kernel.errors import TupleTooLarge


class FastEmit(Protocol):
    """Emits one tuple, or says that it is none for the fast lane."""

    def __call__(
        self, values: Sequence[Any], stream: str, anchor: Anchored | None = None, tup_id: Any = None
    ) -> bool:
        """False without any effect when the tuple is not plain or not valid.

        The caller then uses the collector's emit(), which does the same for all tuples. Each copy joins the
        tree of its anchor, if there is one, before it leaves. Where the trees of this task are tracked, the
        tuple becomes the root of one, with this id. TupleTooLarge when all copies have been added: it may be
        another row that is too large.
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
        names, add_id = trees.roots.names, trees.roots.ids.append
        opened, grown = _after(trees.stamp, opened), _after(trees.stamp, grown)

    def emit(  # noqa: C901 - hot
        values: Sequence[Any], stream: str, anchor: Anchored | None = None, tup_id: Any = None
    ) -> bool:
        if stream not in choices or get_ident() != thread[0]:
            return False
        row = tuple(values)
        width, choose = choices[stream]
        if len(row) != width:
            return False
        for value in row:
            if type(value) not in settled:
                return False
        lanes = choose(row)
        emitted[stream] += 1
        if trees is not None:
            if len(lanes) != 1:
                collector.leave([(lane, (row,)) for lane in lanes], functools.partial(trees.plant, tup_id))
                return True
            planted = next(names)
            add_id(tup_id)
            lanes[0].edges.append(planted)
        too_large = None
        for lane in lanes:
            if anchor is not None:
                edge = random_bits(64)
                anchor.value ^= edge
                lane.edges.append((anchor.root, edge))
            rows = lane.rows
            rows.append(row)
            size = len(rows)
            try:
                if size == 1:
                    opened(lane)
                elif size >= lane.due:
                    grown(lane)
            except TupleTooLarge as error:
                too_large = too_large or error
        if too_large is not None:
            raise too_large
        return True

    fits = collector.fits()
    return _fitting(emit, fits) if fits else emit


def _fitting(plain: FastEmit, fits: Mapping[str, Callable[[Sequence[Any]], Row]]) -> FastEmit:
    """For a component with streams that have a Schema: their rows are fitted first."""

    def emit(values: Sequence[Any], stream: str, anchor: Anchored | None = None, tup_id: Any = None) -> bool:
        fit = fits.get(stream)
        if fit is None:
            return plain(values, stream, anchor, tup_id)
        try:
            row = fit(values)
        except (UnfitError, ValueError):  # a ValueError for a row of another width
            return False
        return plain(row, stream, anchor, tup_id)

    return emit


def _after(stamp: Callable[[], None], call: Callable[[Lane], None]) -> Callable[[Lane], None]:
    def stamped(lane: Lane) -> None:
        stamp()
        call(lane)

    return stamped
