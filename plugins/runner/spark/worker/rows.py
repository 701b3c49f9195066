"""Spark's rows: one carries many records of a stage as bytes, with a tag and the task that it is for."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from heronpy.serializer import default_serializer

#: what DataFrames between chains look like: tag of the rows, number of the task that reads them, the records
SCHEMA = "tag int, task int, records binary"
#: the tag of what is for the driver; other tags are those of exchanges, and are not negative
FOR_DRIVER = -1
#: bytes that a row aims at: large enough to make its own cost small, small enough for many of them in memory
TARGET = 512 << 10
#: records of a row, before their size is known and at most
FIRST, MOST = 256, 20_000

_ARROW = pa.schema([("tag", pa.int32()), ("task", pa.int32()), ("records", pa.binary())])


class SparkRow(NamedTuple):
    """One row."""

    tag: int
    task: int
    records: bytes


class RecordPickler:
    """Makes bytes of records. Classes of the user's file travel with them, where that is needed."""

    def __init__(self) -> None:
        self._by_value = False
        #: how many records to put into a row
        self.at_once = FIRST

    def dumps(self, value: Any, count: int) -> bytes:
        """A list of records, or what has so many of them inside."""
        made = self._pickled(value)
        self.at_once = max(1, min(MOST, count * TARGET // len(made)))
        return made

    def _pickled(self, value: Any) -> bytes:
        if not self._by_value:
            try:
                return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
            except Exception:  # a class that is not found by its name, or what no pickle has: the next says
                self._by_value = True
        return default_serializer.serialize(value)


def opened(records: bytes) -> Any:
    """What a RecordPickler made bytes of."""
    return default_serializer.deserialize(records)


def to_arrow(rows: Sequence[SparkRow]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, _ARROW, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_ARROW)


def from_arrow(batches: Iterable[pa.RecordBatch]) -> Iterator[SparkRow]:
    for batch in batches:
        columns = [batch.column(name).to_pylist() for name in _ARROW.names]
        yield from map(SparkRow, *columns)
