"""Rows that were emitted by one plan and leave by another."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from heronpy.instances.acking.anchored import Edges, cut, divided
from heronpy.instances.output.channel import Lane
from heronpy.instances.output.filling import fill, fill_columns
from heronpy.instances.output.groupings import Grouping
from heronpy.instances.output.outbox import Outbox
from heronpy.instances.output.payloads import anchors_of
from heronpy.kernel.errors import TupleTooLarge
from heronpy.kernel.flow.batches import ColumnBatch, RowBatch
from heronpy.kernel.plans import Input, PhysicalPlan


class Way(NamedTuple):
    """From one stream of this task to all tasks of one of its readers, by one plan."""

    consumer: str
    edge: Input
    grouping: Grouping[Lane]


#: (number of a stream, component that reads it) → its way by the plan in force
Ways = Mapping[tuple[int, str], Way]


class Rerouting:
    """From one plan to the next. `settle` is called for each dropped copy, so that its tree does not wait."""

    def __init__(
        self, outbox: Outbox, before: PhysicalPlan, ways: Ways, settle: Callable[[Edges], None]
    ) -> None:
        self._outbox = outbox
        self._ways = ways
        self._settle = settle
        self._tasks = {task.id: task for task in before.tasks}

    def move(self, lanes: Iterable[Lane]) -> None:
        """Move all that waits for these ways, oldest first; `lanes` are those that rows were put into."""
        waiting = [
            (lane, lane.batches(), way)
            for lane in self._outbox.unsent()
            if (way := self._way_of(lane)) is not None
        ]
        # All at once: what is queued below comes behind what a channel has open.
        for lane, *_ in waiting:
            self._outbox.discard(lane)
        self._outbox.retire(lanes, self._put_late)
        for lane, batches, way in waiting:
            for batch in batches:
                self.queue(lane.stream, way, lane.channel.task, batch)

    def queue(self, stream: int, way: Way, task: int, batch: RowBatch | ColumnBatch) -> None:
        """Rows that were for a task leave first, for the task that receives them by the current plan."""
        for receiver, piece in self._pieces(way, task, batch):
            if receiver is not None:
                self._outbox.queue(stream, receiver, piece)
            else:
                self._drop(piece)

    def _way_of(self, lane: Lane) -> Way | None:
        task = self._tasks.get(lane.channel.task)
        return self._ways.get((lane.stream, task.component)) if task is not None else None

    def _put_late(self, lane: Lane, batch: RowBatch | ColumnBatch) -> None:
        """An emit() that waited while the plan changed has put rows into a lane of the old one."""
        way = self._way_of(lane)
        assert way is not None
        too_large: TupleTooLarge | None = None
        for receiver, piece in self._pieces(way, lane.channel.task, batch):
            if receiver is None:
                self._drop(piece)
                continue
            try:
                self._fill(way.grouping.lanes[receiver], piece)
            except TupleTooLarge as error:  # the pieces of other receivers must leave all the same
                too_large = too_large or error
        if too_large is not None:
            raise too_large

    def _fill(self, lane: Lane, piece: RowBatch | ColumnBatch) -> None:
        if isinstance(piece, ColumnBatch):
            fill_columns(self._outbox, [(lane, piece)])
        else:
            fill(self._outbox, lane, piece.rows, piece.anchors)

    def _drop(self, piece: RowBatch | ColumnBatch) -> None:
        for anchor in anchors_of(piece):
            self._settle(anchor)

    def _pieces(
        self, way: Way, task: int, batch: RowBatch | ColumnBatch
    ) -> Iterable[tuple[int | None, RowBatch | ColumnBatch]]:
        """The tasks that get a batch which was for `task`, and what each of them gets."""
        index = self._tasks[task].index if task in self._tasks else 0
        if isinstance(batch, RowBatch):
            owners = way.grouping.owners(self._as_emitted(way, batch.rows), task, index)
            for at, (one, next_one) in enumerate(itertools.pairwise(owners), 1):
                if one != next_one:
                    cut(batch.anchors, at)
            return batch.pieces(owners)
        found = way.grouping.column_owners(batch.rows, task, index)
        anchors = divided(batch.anchor, len(found))
        pieces = zip(found, anchors, strict=True)
        return [(owner, ColumnBatch(rows, anchor)) for (owner, rows), anchor in pieces]

    def _as_emitted(self, way: Way, rows: list[tuple[Any, ...]]) -> Sequence[Sequence[Any]]:
        """Some values of a row that waits may be encoded already."""
        codec = self._outbox.codec
        settled = all(type(value) in codec.settled for row in rows for value in row)
        if settled or not way.grouping.by_value:
            return rows
        return codec.decode(codec.encode(rows))
