"""Rows into a lane: as many as fit, then the outbox sends them or waits, then more."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from heronpy.instances.acking.anchored import Anchor, cut
from heronpy.instances.output.channel import Lane
from heronpy.instances.output.codec import Row
from heronpy.instances.output.outbox import Outbox
from heronpy.kernel.errors import TupleTooLarge
from heronpy.kernel.flow.batches import ColumnBatch


def fill(outbox: Outbox, lane: Lane, rows: Sequence[Row], anchors: list[Anchor]) -> None:
    """Add rows, and what they are anchored to where trees are tracked; waits for credit as emit() does.

    All of them are added, whatever happens to some: a row that is too large may have been emitted long
    before, and its error is raised when all are in.
    """
    too_large: TupleTooLarge | None = None
    begin = 0
    while begin < len(rows):
        was_empty = not lane.rows
        end = begin + _fitting(lane)
        cut(anchors, end)
        lane.edges.extend(anchors[begin:end])
        lane.rows.extend(rows[begin:end])
        begin = end
        try:
            if was_empty:
                outbox.opened(lane)
            elif len(lane.rows) >= lane.due:
                outbox.grown(lane)
        except TupleTooLarge as error:
            too_large = too_large or error
    if too_large is not None:
        raise too_large


def fill_columns(outbox: Outbox, pieces: Sequence[tuple[Lane, ColumnBatch]]) -> None:
    """Add record batches to lanes, all before any of them waits for credit: what waits in a lane is noted."""
    too_large: TupleTooLarge | None = None
    for lane in dict.fromkeys(_add(outbox, lane, batch) for lane, batch in pieces):
        try:
            if lane is not None:
                outbox.send_columns(lane)
        except TupleTooLarge as error:
            too_large = too_large or error
    if too_large is not None:
        raise too_large


def _add(outbox: Outbox, lane: Lane, batch: ColumnBatch) -> Lane | None:
    if lane.moved_to is None:
        return outbox.add_columns(lane, batch)
    lane.moved_to(lane, batch)
    return None


def _fitting(lane: Lane) -> int:
    """How many rows to add before the outbox looks at the lane."""
    if lane.moved_to is not None:
        return sys.maxsize
    if not lane.sent and not lane.rows:
        return 1  # the first of all shows how large they are
    return max(1, lane.limit - len(lane.rows))
