"""Open batches on their way out: when they leave, and what waits for credit."""

from __future__ import annotations

import time
from collections.abc import Callable

from heronpy.instances.acking.anchored import Edges
from heronpy.instances.acking.wire import encode_anchored
from heronpy.instances.codec import Codec, Row
from heronpy.instances.counters import Counters
from heronpy.instances.link import Link
from heronpy.instances.settings import FlowSettings
from heronpy.kernel.credit import Grant, Spending
from heronpy.kernel.errors import TupleTooLarge
from heronpy.kernel.frame import ANCHORED, DATA, PREFIX_BYTES, PROBE, Prefix, seal
from heronpy.kernel.plans import PhysicalPlan

#: how long one wait for credit lasts before we look whether we should stop
_PATIENCE = 0.05


class Stopping(BaseException):
    """Thrown through user code that waits in emit() when the process is told to end."""


class Channel:
    """Everything towards one task."""

    __slots__ = ("open", "probed_at", "spending", "task")

    def __init__(self, task: int, spending: Spending) -> None:
        self.task = task
        self.spending = spending
        self.probed_at = 0.0
        #: its lanes with rows in them, oldest first
        self.open: dict[Lane, None] = {}


class Lane:
    """The open batch of one stream towards one task."""

    __slots__ = ("channel", "edges", "limit", "opened_at", "rows", "stream")

    def __init__(self, channel: Channel, stream: int, limit: int) -> None:
        self.channel = channel
        self.stream = stream
        self.rows: list[Row] = []
        #: for each row, what it is anchored to; empty where nothing is tracked
        self.edges: list[Edges] = []
        #: a batch of this many rows is full; follows the size of the rows
        self.limit = limit
        self.opened_at = 0.0


class Outbox:
    """All channels of one task.

    A batch leaves at once when its receiver has nothing else to do, when it is full, or when it is old.
    """

    def __init__(
        self,
        plan: PhysicalPlan,
        task: int,
        incarnation: int,
        codec: Codec,
        link: Link,
        settings: FlowSettings,
        counters: Counters,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._plan = plan
        self._task = task
        self._incarnation = incarnation
        self.codec = codec
        self._link = link
        self._settings = settings
        self._counters = counters
        self._clock = clock
        self._channels: dict[int, Channel] = {}
        #: lanes with rows in them, oldest first
        self._open: dict[Lane, None] = {}
        #: the task whose credit emit() waits for at this moment
        self.held_up_by: int | None = None

    def lane(self, stream: int, task: int) -> Lane:
        """A lane of its own for each stream towards each task."""
        channel = self._channels.get(task)
        if channel is None:
            emitters = len(self._plan.upstream_of(self._plan.task(task).component))
            share = max(1, self._settings.credit_bytes // emitters)
            channel = Channel(task, Spending(self._incarnation, self._settings.credit_initial, share))
            self._channels[task] = channel
        return Lane(channel, stream, self._settings.batch_tuples)

    def opened(self, lane: Lane) -> None:
        """The first row has been put into a lane."""
        lane.opened_at = self._clock()
        self._open[lane] = None
        lane.channel.open[lane] = None
        if lane.limit <= 1:
            self.full(lane)
        elif lane.channel.spending.idle:
            self._send(lane)

    def full(self, lane: Lane) -> None:
        """A lane has reached its limit: send, or wait until the receiver lets us."""
        while len(lane.rows) >= lane.limit:
            if not self._send(lane):
                self._wait_for(lane)

    def flush(self) -> None:
        """Send all that credit allows; what it does not allow stays."""
        for lane in list(self._open):
            self._send(lane)

    def flush_due(self) -> None:
        """Send what has lingered long enough."""
        if not self._open:
            return
        oldest = self._clock() - self._settings.linger
        held_up = False
        for lane in list(self._open):
            if lane.opened_at > oldest:
                break
            held_up |= not self._send(lane)
        if held_up:
            self.probe()

    @property
    def waiting(self) -> bool:
        return bool(self._open)

    def on_grant(self, source: int, incarnation: int, grant: Grant) -> bool:
        channel = self._channels.get(source)
        return channel is not None and channel.spending.on_grant(incarnation, grant)

    def probe(self) -> None:
        """Ask receivers that have held us up for long how far they are."""
        now = self._clock()
        for lane in self._open:
            channel = lane.channel
            if (
                channel.spending.room() <= 0
                and now - max(lane.opened_at, channel.probed_at) > self._settings.credit_probe
            ):
                channel.probed_at = now
                self._link.send(*seal(self._prefix(PROBE, lane, 0), b""))

    def _wait_for(self, lane: Lane) -> None:
        begun = self._clock()
        self.held_up_by = lane.channel.task
        # flush_due() may have used the new credit for this very lane, which then is not full any more.
        while lane.channel.spending.room() <= 0 and len(lane.rows) >= lane.limit:
            if self._link.stopping:
                raise Stopping
            self.probe()
            self._link.pump(_PATIENCE)
            self.flush_due()
        self.held_up_by = None
        self._counters.waiting_seconds += self._clock() - begun

    def _send(self, lane: Lane) -> bool:
        """Send as much of a lane as credit allows; False when that is nothing.

        Batches that were opened before, for the same task, go first: what closes or announces something on
        a stream of its own must not overtake what was emitted before it.
        """
        channel = lane.channel
        while (oldest := next(iter(channel.open))) is not lane:
            if not self._send_some(oldest):
                return False
        return self._send_some(lane)

    def _send_some(self, lane: Lane) -> bool:
        room = lane.channel.spending.room()
        if room <= 0:
            return False
        try:
            self._send_rows(lane, lane.rows[:room])
        finally:
            if not lane.rows:
                del self._open[lane]
                del lane.channel.open[lane]
        return True

    def _send_rows(self, lane: Lane, rows: list[Row]) -> None:
        """Send the first rows of a lane, which are taken out of it as they leave."""
        payload, kind = self.codec.encode(rows), DATA
        edges = lane.edges[: len(rows)]
        if any(edges):
            payload, kind = encode_anchored(edges, payload), ANCHORED
        size = len(payload)
        if size + PREFIX_BYTES > self._settings.frame_bytes:
            self._send_halves(lane, rows, size)
            return
        self._link.send(*seal(self._prefix(kind, lane, len(rows)), payload))
        del lane.rows[: len(rows)], lane.edges[: len(rows)]
        lane.channel.spending.spend(len(rows), size)
        fitting = self._settings.batch_bytes * len(rows) // max(size, 1)
        lane.limit = min(max(fitting, 1), self._settings.batch_tuples)

    def _send_halves(self, lane: Lane, rows: list[Row], size: int) -> None:
        if len(rows) == 1:
            # It goes alone: a component may catch this, and the rest of the batch is good.
            del lane.rows[0], lane.edges[:1]
            component, stream = self._plan.streams[lane.stream]
            msg = (
                f"a tuple of {size} bytes on stream {stream!r} of {component!r} does not fit into a frame"
                f" of {self._settings.frame_bytes} bytes"
            )
            raise TupleTooLarge(msg, hint="smaller tuples, or --set transport.frame_bytes=64MB")
        middle = len(rows) // 2
        self._send_rows(lane, rows[:middle])
        self._send_rows(lane, rows[middle:])

    def _prefix(self, kind: int, lane: Lane, count: int) -> Prefix:
        channel = lane.channel
        return Prefix(
            kind,
            channel.task,
            self._task,
            lane.stream,
            count,
            self._plan.epoch,
            self._incarnation,
            0,
            channel.spending.sent,
        )
