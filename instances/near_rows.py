"""Batches on their way to a task of the same process: handed over as they are, without a codec."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from heronpy.kernel.flow.compact_columns import compact_bytes
from heronpy.kernel.flow.frame import Prefix

Row = tuple[Any, ...]

#: rows of a batch whose size is measured, for that of the whole
_SAMPLE = 8


class NearRows:
    """Rows of values that cannot change, so that sender and receiver may have the same ones.

    Its length is that of the bytes that the rows would take on a wire, as estimated from some of them: credit
    is in bytes, too.
    """

    __slots__ = ("_size", "anchors", "rows")

    def __init__(self, rows: Sequence[Row], anchors: bytes, encode: Callable[[Sequence[Row]], bytes]) -> None:
        self.rows = rows
        #: what the rows are anchored to, as in front of an encoded batch; empty where nothing is tracked
        self.anchors = anchors
        some = rows[:: len(rows) // _SAMPLE or 1]
        self._size = len(encode(some)) * len(rows) // len(some) + len(anchors)

    def __len__(self) -> int:
        return self._size

    def opened(self) -> list[list[Any]]:
        """A list of its own for each row, as a codec makes: its receiver may change it."""
        return list(map(list, self.rows))


class NearColumns:
    """A record batch, which Arrow does not change, and what it is anchored to. As long as its rows."""

    __slots__ = ("anchor", "batch")

    def __init__(self, batch: Any, anchor: Any) -> None:
        self.batch = batch
        self.anchor = anchor

    def __len__(self) -> int:
        return compact_bytes(self.batch)


#: what a data frame brings
Payload = bytes | NearRows | NearColumns

#: takes a batch for a task of the same process
Near = Callable[[Prefix, Payload], None]

#: the way to a task of the same process; None for any other
FindNear = Callable[[int], Near | None]


def nobody_near(_task: int) -> None:
    """A process for each task."""
