"""The lanes of a task with rows in them, over all its channels."""

from __future__ import annotations

from collections.abc import Callable

from heronpy.instances.exposure import Exposure
from heronpy.instances.flow_settings import FlowSettings
from heronpy.instances.output.channel import Channel, Lane
from heronpy.instances.output.columns.column_lane import ColumnLane
from heronpy.kernel.flow.batches import ColumnBatch, RowBatch


class OpenLanes(dict[Lane, None]):
    """Oldest first. A dict, because it is looked at every turn; each channel has its own lanes as well."""

    def __init__(self, settings: FlowSettings, exposure: Exposure, clock: Callable[[], float]) -> None:
        super().__init__()
        self._settings = settings
        self._exposure = exposure
        self._clock = clock

    def enter(self, lane: Lane) -> None:
        """A lane has rows from now on."""
        lane.opened_at = self._clock()
        self[lane] = lane.channel.open[lane] = None

    def leave(self, lane: Lane) -> None:
        """A lane has no more rows, if it had any."""
        self.pop(lane, None)
        lane.channel.open.pop(lane, None)

    def behind(self, channel: Channel, stream: int, batch: RowBatch | ColumnBatch) -> Lane:
        """A private lane for a batch, behind all that is open on its channel: the newest one if that fits."""
        columns = isinstance(batch, ColumnBatch)
        newest = next(reversed(channel.open), None)
        if newest is not None and newest.stream == stream and newest.columns is columns:
            return newest
        lane = (
            ColumnLane(channel, stream, self._settings, self._exposure)
            if columns
            else Lane(channel, stream, self._settings.batch_tuples)
        )
        self.enter(lane)
        return lane

    def seal(self, lane: Lane, overfull: dict[Lane, None]) -> None:
        """Move the rows of a lane to one of their own in its place: what is emitted next comes behind it."""
        sealed = Lane(lane.channel, lane.stream, lane.limit)
        sealed.rows, sealed.edges, sealed.opened_at = lane.rows, lane.edges, lane.opened_at
        sealed.note(lane.noted)
        for follower in lane.channel.followers:
            follower.move(lane, sealed)
        lane.discard()
        for place in (self, lane.channel.open, overfull):
            order = [sealed if each is lane else each for each in place]
            place.clear()
            place.update(dict.fromkeys(order))
