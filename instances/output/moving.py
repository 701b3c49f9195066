"""Moves waiting rows from the lanes of one plan to the lanes of the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from heronpy.instances.acking.anchored import Edges
from heronpy.instances.output.channel import Lane
from heronpy.instances.output.codec import Row
from heronpy.instances.output.outbox import Outbox
from heronpy.instances.output.rerouting import Way
from heronpy.kernel.plans import PhysicalPlan

#: (number of a stream, component that reads it) → its way by the plan in force
Ways = Mapping[tuple[int, str], Way[Lane]]


class Moving:
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
            (lane, lane.rows, lane.edges, way)
            for lane in self._outbox.unsent()
            if (way := self._way_of(lane)) is not None
        ]
        # All at once: what is queued below comes behind what a channel has open.
        for lane, *_ in waiting:
            self._outbox.discard(lane)
        self._outbox.retire(lanes, self._put_late)
        for lane, rows, edges, way in waiting:
            self.queue(lane.stream, way, lane.channel.task, rows, edges)

    def queue(self, stream: int, way: Way[Lane], task: int, rows: list[Row], edges: Sequence[Edges]) -> None:
        """Rows that were for a task leave first, for the task that receives them by the current plan."""
        for number, receiver in enumerate(self._receivers(way, task, rows)):
            anchors = edges[number : number + 1]  # none where nothing is tracked
            if receiver is not None:
                self._outbox.queue(stream, receiver, rows[number], anchors)
            else:
                for anchor in anchors:
                    self._settle(anchor)

    def _way_of(self, lane: Lane) -> Way[Lane] | None:
        task = self._tasks.get(lane.channel.task)
        return self._ways.get((lane.stream, task.component)) if task is not None else None

    def _put_late(self, lane: Lane) -> None:
        """An emit() that waited while the plan changed has put a row into a lane of the old one."""
        rows, edges = lane.rows, lane.edges
        lane.rows, lane.edges = [], []
        way = self._way_of(lane)
        assert way is not None
        for number, receiver in enumerate(self._receivers(way, lane.channel.task, rows)):
            anchors = edges[number : number + 1]
            if receiver is not None:
                self._outbox.put(way.lanes[receiver], rows[number], anchors)
            else:
                for anchor in anchors:
                    self._settle(anchor)

    def _receivers(self, way: Way[Lane], task: int, rows: list[Row]) -> list[int | None]:
        index = self._tasks[task].index if task in self._tasks else 0
        return [way.again(task, index, row) for row in self._as_emitted(way, rows)]

    def _as_emitted(self, way: Way[Lane], rows: list[Row]) -> Sequence[Sequence[Any]]:
        """Some values of a row that waits may be encoded already."""
        codec = self._outbox.codec
        if not way.by_value or all(type(value) in codec.settled for row in rows for value in row):
            return rows
        return codec.decode(codec.encode(rows))
