"""Batches: the rows of one stream that travel together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple


class ColumnBatch(NamedTuple):
    """Rows as an Arrow record batch, and what they are anchored to as a whole; None where that is nothing."""

    rows: Any
    anchor: Any


class RowBatch(NamedTuple):
    """Rows as Python tuples, and for each row what it is anchored to; no anchors where nothing is tracked.

    Rows that are anchored together are parted only where their anchors have been cut.
    """

    rows: list[tuple[Any, ...]]
    anchors: list[Any]

    def split(self, count: int) -> tuple[RowBatch, RowBatch]:
        """The first `count` rows, and the others."""
        return RowBatch(self.rows[:count], self.anchors[:count]), RowBatch(
            self.rows[count:], self.anchors[count:]
        )

    def pieces(self, owners: Iterable[int | None]) -> Iterator[tuple[int | None, RowBatch]]:
        """Consecutive rows with the same owner, in order; `owners` has one entry for each row."""
        start, current = 0, None
        for number, owner in enumerate(owners):
            if number and owner != current:
                yield current, self._between(start, number)
                start = number
            current = owner
        if self.rows:
            yield current, self._between(start, len(self.rows))

    def _between(self, start: int, end: int) -> RowBatch:
        return RowBatch(self.rows[start:end], self.anchors[start:end])
