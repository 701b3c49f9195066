"""From segments to Spark: what there is, which of it belongs to a range of offsets, and its Arrow batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from heronpy.kernel.errors import ObjectMissing, UserError
from heronpy.spark.arrow_stream import from_stream
from heronpy.spark.options import Options
from heronpy.spark.readers import Reader
from heronpy.spark.schema import shown, to_spark
from heronpy.spark.segments import (
    COMMITTED,
    DATA,
    Offset,
    Present,
    Segment,
    between,
    capped,
    from_plain,
    limited,
    reach,
    to_plain,
)
from heronpy.spark.shelf import Shelf

try:
    from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
except ImportError:  # PySpark before 4.2 gives a source no say in it

    class SupportsTriggerAvailableNow:  # type: ignore[no-redef]
        pass


class Parts(InputPartition):
    """Objects that one task of Spark's reads, one after the other."""

    def __init__(self, names: list[str]) -> None:
        self.names = names


class _Reading:
    """What batch and stream have in common."""

    def __init__(self, options: Options, schema: StructType) -> None:
        self._options = options
        shelf = options.open("segments")
        try:
            own = options.schema(shelf, "segments")
        finally:
            shelf.close()
        _check(options, own, schema)

    def read(self, partition: InputPartition) -> Iterator[Any]:
        assert isinstance(partition, Parts)
        shelf = self._options.open("segments")
        try:
            for name in partition.names:
                with from_stream(_read(shelf, name, self._options), name) as stream:
                    yield from stream
        finally:
            shelf.close()

    def _parts(self, segments: Sequence[Segment]) -> list[Parts]:
        names = [name for segment in segments for name in segment.data()]
        most = self._options.partitions
        return [Parts(names[start::most]) for start in range(min(most, len(names)))]


class SegmentReader(_Reading, DataSourceReader):
    """All that is committed and not deleted at this moment. Deletes nothing, and nothing waits for it."""

    def partitions(self) -> Sequence[InputPartition]:
        shelf = self._options.open("segments")
        try:
            # one at least, or Spark makes one of its own
            return self._parts(_present(shelf).segments()) or [Parts([])]
        finally:
            shelf.close()


class SegmentStreamReader(_Reading, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets are {lane: [first, last]}, see heronpy/spark/segments.py."""

    def __init__(self, options: Options, schema: StructType) -> None:
        super().__init__(options, schema)
        self._opened: tuple[Shelf, Reader] | None = None
        #: where the query is, for a PySpark that does not say so
        self._at: Offset = {}
        self._most: Offset | None = None

    def initialOffset(self) -> dict[str, list[int]]:  # noqa: N802 - Spark's name
        _, reader = self._open()
        self._at = reader.enter(new=True)
        return to_plain(self._at)

    def latestOffset(self, start: Any = None, limit: Any = None) -> dict[str, list[int]]:  # noqa: N802, ARG002
        shelf = self._entered()
        begin = self._at if start is None else from_plain(start)
        end = reach(begin, _present(shelf), self._options.what("segments"))
        if end != begin:
            self._open()[1].check()
        if self._most is not None:
            end = capped(begin, end, self._most)
        if self._options.most_segments:
            end = limited(begin, end, self._options.most_segments)
        self._at = end
        return to_plain(end)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        shelf, _ = self._open()
        self._most = reach({}, _present(shelf))

    def partitions(self, start: Any, end: Any) -> Sequence[InputPartition]:
        shelf = self._entered()
        self._at = from_plain(end)
        committed = _present(shelf).committed
        wanted = list(between(from_plain(start), self._at))
        missing = [(lane, number) for lane, number in wanted if number not in committed.get(lane, ())]
        if missing:
            lane, number = missing[0]
            msg = f"segment {number} of {self._options.what('segments')} (lane {lane}) is gone"
            raise UserError(msg, hint="use a new checkpointLocation, and a `reader` option for each query")
        return self._parts([committed[lane][number] for lane, number in wanted])

    def commit(self, end: Any) -> None:
        self._entered()
        _, reader = self._open()
        reader.commit(from_plain(end))

    def stop(self) -> None:
        if self._opened is not None:
            self._opened[0].close()
            self._opened = None

    def _open(self) -> tuple[Shelf, Reader]:
        if self._opened is None:
            shelf = self._options.open("segments")
            self._opened = shelf, Reader(shelf, self._options.reader)
        return self._opened

    def _entered(self) -> Shelf:
        """The shelf, once the reader has its place: a query that goes on must find the one it had."""
        shelf, reader = self._open()
        if not reader.entered:
            reader.enter(new=False)
        return shelf


def _present(shelf: Shelf) -> Present:
    marks = shelf.names(COMMITTED)
    return Present.of(marks, shelf.names(DATA))


def _read(shelf: Shelf, name: str, options: Options) -> bytes:
    try:
        return shelf.read(name)
    except ObjectMissing:
        msg = f"a segment of {options.what('segments')} was deleted while it was read"
        raise UserError(msg, hint="read it again, or set a `reader` option for each query") from None


def _check(options: Options, own: Any, wanted: StructType) -> None:
    have = to_spark(own)
    if [(each.name, each.dataType) for each in have] != [(each.name, each.dataType) for each in wanted]:
        msg = (
            f"{options.what('segments')} has the columns {shown(own)}, and the query asks for"
            f" {wanted.simpleString()}"
        )
        raise UserError(msg, hint="leave out .schema(…)")
