"""The open record batches of one stream towards one task."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from heronpy.instances.acking.anchored import divided
from heronpy.instances.exposure import Exposure
from heronpy.instances.flow_settings import FlowSettings
from heronpy.instances.output.channel import Channel, Lane
from heronpy.kernel.flow.batches import ColumnBatch, RowBatch
from heronpy.kernel.flow.column_split import concatenated
from heronpy.kernel.flow.compact_columns import compact_bytes
from heronpy.kernel.flow.frame import PREFIX_BYTES


class QueuedColumns:
    """Record batches, oldest first; as long as the rows that they have."""

    def __init__(self) -> None:
        self.batches: deque[ColumnBatch] = deque()
        self.size = 0

    def __len__(self) -> int:
        return self.size


class ColumnLane(Lane):
    """A private lane: rows that are emitted behind its columns are in another one, which leaves later.

    A frame has one batch as it was emitted; a large one is cut, small ones that belong to no tree are put
    together.
    """

    columns = True

    __slots__ = ("_exposure", "_frame_bytes", "_settings")

    rows: QueuedColumns  # type: ignore[assignment]

    def __init__(self, channel: Channel, stream: int, settings: FlowSettings, exposure: Exposure) -> None:
        super().__init__(channel, stream, 1)
        self._settings = settings
        self._exposure = exposure
        #: half of what a frame may have: the rest is for anchors, padding and rows of unequal size
        self._frame_bytes = (settings.frame_bytes - PREFIX_BYTES) // 2
        self.rows = QueuedColumns()

    @property
    def wanted(self) -> int:  # type: ignore[override]
        return len(self.rows.batches[0].rows) if self.rows else 1

    def put(self, batch: RowBatch | ColumnBatch) -> None:
        assert isinstance(batch, ColumnBatch)
        count = len(batch.rows)
        self.rows.batches.append(batch)
        self.rows.size += count
        fitting = self._settings.batch_bytes * count // max(compact_bytes(batch.rows), 1)
        # a batch of usual size waits for company; a large one is as good as full
        self.limit = max(min(fitting, self._settings.batch_tuples), count, 1)
        self._exposure.add(count)

    def batches(self) -> Sequence[RowBatch | ColumnBatch]:
        return list(self.rows.batches)

    def first(self, count: int) -> ColumnBatch:
        oldest = self.rows.batches[0]
        size, rows = compact_bytes(oldest.rows), len(oldest.rows)
        most = min(count, max(rows * self._frame_bytes // max(size, 1), 1))
        if rows > most:
            return self._cut(most)
        if oldest.anchor is None and size < self._settings.batch_bytes:
            self._gather(count)
        return self.rows.batches[0]

    def halves(self, batch: RowBatch | ColumnBatch) -> Sequence[RowBatch | ColumnBatch]:
        first = self._cut(len(batch.rows) // 2)
        return [first, self.rows.batches[1]]

    def drop_first(self, count: int) -> None:
        assert count == len(self.rows.batches[0].rows)
        self.rows.batches.popleft()
        self.rows.size -= count
        self.sent += count
        self.limit = max(1, min(self.limit, len(self.rows)))  # what is left of a large batch is as full as it
        self._exposure.add(-count)

    def discard(self) -> None:
        self._exposure.add(-len(self.rows))
        self.rows = QueuedColumns()

    def _cut(self, count: int) -> ColumnBatch:
        """Replace the first batch by two, the first of which has so many rows."""
        whole = self.rows.batches.popleft()
        first, second = divided(whole.anchor, 2)
        self.rows.batches.appendleft(ColumnBatch(whole.rows.slice(count), second))
        self.rows.batches.appendleft(ColumnBatch(whole.rows.slice(0, count), first))
        return self.rows.batches[0]

    def _gather(self, most: int) -> None:
        """Make one of the first batches, as far as they fit into a usual frame."""
        gathered: list[ColumnBatch] = []
        rows = size = 0
        for batch in self.rows.batches:
            rows += len(batch.rows)
            size += compact_bytes(batch.rows)
            full = rows > most or size > self._settings.batch_bytes
            if gathered and (full or batch.anchor is not None):
                break
            gathered.append(batch)
        whole = concatenated([batch.rows for batch in gathered])
        if whole is None:
            return
        for _ in gathered:
            self.rows.batches.popleft()
        self.rows.batches.appendleft(ColumnBatch(whole, None))
