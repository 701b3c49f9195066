"""The output of a task towards one other task: its credit, and an open batch for each stream."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence

from heronpy.instances.acking.anchored import Anchor, cut
from heronpy.instances.output.codec import Row
from heronpy.kernel.flow.batches import ColumnBatch, RowBatch
from heronpy.kernel.flow.credit import Spending
from heronpy.kernel.flow.signals import Follower
from heronpy.kernel.flow.watermarks import UNKNOWN


class Channel:
    """Everything towards one task."""

    __slots__ = (
        "followers",
        "heard_at",
        "held",
        "left_at",
        "open",
        "spending",
        "task",
        "watermark",
    )

    def __init__(self, task: int, spending: Spending) -> None:
        self.task = task
        self.spending = spending
        #: when the receiver last made progress, got new data after being idle, or was probed
        self.heard_at = 0.0
        #: when the last rows left
        self.left_at = 0.0
        #: its lanes with rows in them, oldest first
        self.open: dict[Lane, None] = {}
        #: whether rows are held back until it is decided which plan routes them
        self.held = False
        #: followers that wait for rows emitted before them, in order
        self.followers: deque[PendingFollower] = deque()
        #: the last watermark that has left
        self.watermark = UNKNOWN

    def is_waiting(self, long_ago: float) -> bool:
        """Whether the receiver has probably nothing else to do: it says so, or was sent nothing lately."""
        return self.spending.idle or self.left_at < long_ago

    def room(self) -> int:
        """Tuples that may be sent now."""
        if self.held:
            return 0
        room = self.spending.room()
        oldest = next(iter(self.open), None)
        if oldest is None or room >= oldest.wanted or 2 * room >= self.spending.exposed:
            return room
        return 0  # a batch of columns is not cut for a little room: more comes when half of it is used


class PendingFollower:
    """A follower that waits until the rows emitted before it on its channel have left.

    Rows join lanes that were opened earlier, so the channel's position does not tell which rows were emitted
    before: in a model, a threshold by position let the follower overtake a row in 84 % of runs, one for each
    open lane in none.
    """

    __slots__ = ("_behind", "signal")

    def __init__(self, signal: Follower, lanes: Iterable[Lane]) -> None:
        self.signal = signal
        self._behind = {lane: lane.sent + len(lane.rows) for lane in lanes}

    @property
    def due(self) -> bool:
        """Whether nothing that was emitted before it is left here."""
        return all(lane.sent >= threshold for lane, threshold in self._behind.items())

    def move(self, lane: Lane, to: Lane) -> None:
        """What was in a lane is in another one now, which had nothing before."""
        threshold = self._behind.pop(lane, None)
        if threshold is not None:
            self._behind[to] = threshold - lane.sent


#: moves a batch that was put into a lane of a plan that is no longer in force
Mover = Callable[["Lane", RowBatch | ColumnBatch], None]


class Lane:
    """The open batch of one stream towards one task."""

    #: whether it takes record batches, and not rows
    columns = False
    #: rows that it would like to send at once
    wanted = 1

    __slots__ = (
        "_limit",
        "channel",
        "due",
        "edges",
        "moved_to",
        "noted",
        "opened_at",
        "rows",
        "sent",
        "stream",
    )

    def __init__(self, channel: Channel, stream: int, limit: int) -> None:
        self.channel = channel
        self.stream = stream
        #: rows that have left the lane: sent or dropped
        self.sent = 0
        self.rows: list[Row] = []
        #: for each row, what it is anchored to; empty where nothing is tracked
        self.edges: list[Anchor] = []
        #: the most rows that the batch has according to the note for a successor of this task
        self.noted = 0
        self._limit = limit
        #: with this many rows the outbox is called: they are full, or more than was noted
        self.due = 1
        self.opened_at = 0.0
        #: Set on a lane of a plan that is no longer in force: is given what is put into it. An emit() that
        #: waited while the plan changed continues with the lanes that it chose before.
        self.moved_to: Mover | None = None

    def batches(self) -> Sequence[RowBatch | ColumnBatch]:
        """What is in it now, oldest first."""
        return [RowBatch(self.rows, self.edges)]

    def first(self, count: int) -> RowBatch | ColumnBatch:
        """Its oldest rows, at most so many."""
        cut(self.edges, count)
        return RowBatch(self.rows[:count], self.edges[:count])

    def halves(self, batch: RowBatch | ColumnBatch) -> Sequence[RowBatch | ColumnBatch]:
        """Its oldest rows, which are too many for a frame, as two batches."""
        assert isinstance(batch, RowBatch)
        half = len(batch.rows) // 2
        cut(self.edges, half)  # here, since the second half may stay
        return RowBatch(batch.rows, self.edges[: len(batch.rows)]).split(half)

    def put(self, batch: RowBatch | ColumnBatch) -> None:
        """Add a batch that was emitted before, whole."""
        assert isinstance(batch, RowBatch)
        if batch.anchors or self.edges:  # rows of a checkpoint have none, and may be before or behind others
            self.edges.extend([None] * (len(self.rows) - len(self.edges)))
            self.edges.extend(batch.anchors or [None] * len(batch.rows))
        self.rows.extend(batch.rows)

    def discard(self) -> None:
        """What is in it does not leave from here."""
        self.rows, self.edges = [], []

    def drop_first(self, count: int) -> None:
        """The first rows have left."""
        self.sent += count
        del self.rows[:count], self.edges[:count]

    @property
    def limit(self) -> int:
        """A batch of this many rows is full; follows the size of the rows."""
        return self._limit

    @limit.setter
    def limit(self, rows: int) -> None:
        self._limit = rows
        self.due = min(rows, self.noted + 1)

    def note(self, rows: int) -> None:
        """So many rows are covered by the note for a successor."""
        self.noted = rows
        self.due = min(self._limit, rows + 1)
